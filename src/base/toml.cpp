#include "base/toml.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace weft {
namespace {

bool is_bare(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  std::vector<TomlEntry> read() {
    std::vector<TomlEntry> entries;
    std::set<std::vector<std::string>> seen;
    std::vector<std::string> table;
    for (skip_blank_lines(); !at_end(); skip_blank_lines()) {
      const int line = line_;
      if (peek() == '[') {
        table = read_table_header();
      } else {
        TomlEntry entry = read_entry(table);
        entry.line = line;
        std::vector<std::string> full = entry.table;
        full.push_back(entry.key);
        if (!seen.insert(full).second) fail("key " + join(full, ".") + " is given twice", line);
        entries.push_back(std::move(entry));
      }
      end_line();
    }
    return entries;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  char next() {
    const char c = peek();
    if (c == '\n') ++line_;
    ++at_;
    return c;
  }

  [[noreturn]] void fail(const std::string& message) const { fail(message, line_); }

  [[noreturn]] void fail(const std::string& message, int line) const {
    throw UserError(Violation{"toml-syntax", path_ + ":" + std::to_string(line), message});
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  void skip_comment() {
    skip_blanks();
    if (peek() == '#') {
      while (!at_end() && peek() != '\n') ++at_;
    }
    if (peek() == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  }

  void skip_blank_lines() {
    for (skip_comment(); peek() == '\n'; skip_comment()) next();
  }

  void end_line() {
    skip_comment();
    if (at_end()) return;
    if (peek() != '\n') fail("unexpected text after the value: " + rest_of_line());
    next();
  }

  std::string rest_of_line() const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    std::string quoted(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 40)));
    quoted.insert(quoted.begin(), '`');
    return quoted + '`';
  }

  std::vector<std::string> read_key() {
    std::vector<std::string> parts;
    for (;;) {
      skip_blanks();
      std::string part;
      if (peek() == '"' || peek() == '\'') {
        part = read_string();
      } else {
        while (is_bare(peek())) part += next();
        if (part.empty()) fail("a key is expected before " + rest_of_line());
      }
      parts.push_back(std::move(part));
      skip_blanks();
      if (peek() != '.') return parts;
      next();
    }
  }

  std::vector<std::string> read_table_header() {
    next();
    if (peek() == '[') fail("arrays of tables are not supported");
    std::vector<std::string> table = read_key();
    if (peek() != ']') fail("a table's name ends with ]");
    next();
    return table;
  }

  TomlEntry read_entry(const std::vector<std::string>& table) {
    TomlEntry entry;
    std::vector<std::string> key = read_key();
    if (peek() != '=') fail("`key = value` is expected");
    next();
    skip_blanks();
    entry.key = key.back();
    key.pop_back();
    entry.table = table;
    entry.table.insert(entry.table.end(), key.begin(), key.end());
    entry.is_string = peek() == '"' || peek() == '\'';
    entry.value = peek() == '[' ? read_array() : read_scalar();
    return entry;
  }

  std::string read_scalar() {
    if (peek() == '"' || peek() == '\'') return read_string();
    std::string word;
    while (is_bare(peek()) || peek() == '.' || peek() == '+') word += next();
    if (word.empty()) fail("a value is expected before " + rest_of_line());
    if (word == "true" || word == "false") return word;
    word = without_underscores(word);
    if (!parse_double(word).has_value()) {
      fail("`" + word + "` is no number, boolean or quoted string");
    }
    return word;
  }

  // TOML allows _ between two digits.
  std::string without_underscores(const std::string& word) const {
    std::string number;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool between_digits = word[i] == '_' && i > 0 && i + 1 < word.size() &&
                                  std::isdigit(static_cast<unsigned char>(word[i - 1])) != 0 &&
                                  std::isdigit(static_cast<unsigned char>(word[i + 1])) != 0;
      if (!between_digits) number += word[i];
    }
    return number;
  }

  std::string read_array() {
    next();
    std::string text = "[";
    for (skip_blank_lines(); peek() != ']'; skip_blank_lines()) {
      if (at_end()) fail("an array is not closed");
      if (peek() == '[') fail("arrays within arrays are not supported");
      if (text.size() > 1) text += ",";
      text += read_scalar();
      skip_blank_lines();
      if (peek() == ',') {
        next();
      } else if (peek() != ']') {
        fail("`,` or `]` is expected in an array before " + rest_of_line());
      }
    }
    next();
    return text + "]";
  }

  std::string read_string() {
    const char quote = next();
    if (peek() == quote && at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
      fail("strings over several lines are not supported");
    }
    std::string text;
    while (peek() != quote) {
      if (at_end() || peek() == '\n') fail("a string is not closed");
      const char c = next();
      text += c == '\\' && quote == '"' ? read_escape() : c;
    }
    next();
    return text;
  }

  char read_escape() {
    switch (at_end() ? '\0' : next()) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case '"':
        return '"';
      case '\\':
        return '\\';
      default:
        fail("unknown escape in a string; a path with \\ goes in single quotes");
    }
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& path) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return Reader(text, path).read();
}

}  // namespace weft
