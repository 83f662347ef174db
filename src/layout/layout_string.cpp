#include "layout/layout_string.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace weft {
namespace {

// More characters than any model has layers; bounds what a short string like `t*999999999` costs.
constexpr std::size_t kMaxExpanded = 100'000;

// A character and where in the string the user wrote it.
struct PlacedChar {
  char value = 0;
  std::size_t place = 0;
};

// True for a byte of UTF-8 that does not begin a character.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// What moves the cursor would part the caret from its place.
char visible(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c; }

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != ',') chars_.push_back({text[i], i});
    }
  }

  // Groups and repeats written out.
  std::vector<PlacedChar> expand() {
    std::vector<PlacedChar> expanded;
    while (!at_end()) {
      if (peek() == '(') {
        append_repeated(expanded, read_group(), 1);
      } else {
        read_repeated_char(expanded);
      }
    }
    return expanded;
  }

  [[noreturn]] void refuse(std::size_t place, const std::string& message) const {
    throw UserError({"layout-string", "--pipeline-model-parallel-layout", message + around(place)});
  }

 private:
  bool at_end() const { return next_ == chars_.size(); }
  char peek() const { return at_end() ? '\0' : chars_[next_].value; }
  std::size_t place() const { return at_end() ? text_.size() : chars_[next_].place; }

  std::vector<PlacedChar> read_group() {
    const std::size_t open = place();
    ++next_;
    std::vector<PlacedChar> group;
    while (peek() != ')') {
      if (at_end()) refuse(open, "this group is not closed; expected `)`");
      if (peek() == '(') refuse(place(), "a group inside a group; groups do not nest");
      read_repeated_char(group);
    }
    if (group.empty()) refuse(open, "an empty group");
    ++next_;
    if (peek() != '*') refuse(place(), "a group needs a count; expected `*N` after `)`");
    const int count = read_count();
    std::vector<PlacedChar> repeated;
    append_repeated(repeated, group, count);
    return repeated;
  }

  void read_repeated_char(std::vector<PlacedChar>& out) {
    const PlacedChar at = chars_[next_];
    if (std::string_view("EtmL|").find(at.value) == std::string_view::npos) {
      refuse(at.place, unexpected(at));
    }
    ++next_;
    append_repeated(out, {at}, peek() == '*' ? read_count() : 1);
  }

  // The first byte at `place` or behind it that begins a character of UTF-8.
  std::size_t character_start(std::size_t place) const {
    while (place < text_.size() && is_continuation(text_[place])) ++place;
    return place;
  }

  // Two lines: the string, of a long one a part, and a caret under the place.
  std::string around(std::size_t place) const {
    constexpr std::size_t kBefore = 40;
    constexpr std::size_t kBehind = 30;
    const std::size_t first = place > kBefore ? character_start(place - kBefore) : 0;
    const std::size_t last = character_start(std::min(text_.size(), place + kBehind));
    std::string shown = text_.substr(first, last - first);
    std::transform(shown.begin(), shown.end(), shown.begin(), visible);
    const std::string dots = first > 0 ? "..." : "";
    const auto columns = std::count_if(text_.begin() + static_cast<std::ptrdiff_t>(first),
                                       text_.begin() + static_cast<std::ptrdiff_t>(place),
                                       [](char c) { return !is_continuation(c); });
    return "\n    " + dots + shown + (last < text_.size() ? "..." : "") + "\n    " +
           std::string(dots.size() + static_cast<std::size_t>(columns), ' ') + "^";
  }

  std::string unexpected(const PlacedChar& at) const {
    if (at.value == ')') return "`)` without a `(`";
    if (at.value == '*') return "`*` repeats one character or one group, once";
    std::string character = text_.substr(at.place, character_start(at.place + 1) - at.place);
    std::transform(character.begin(), character.end(), character.begin(), visible);
    return "unknown character `" + character +
           "`; expected E (embedding), t (decoder layer), m (MTP layer), L (loss), |, ( or a comma";
  }

  // From the `*` on.
  int read_count() {
    ++next_;
    const std::size_t first = place();
    if (peek() < '0' || peek() > '9') refuse(first, "expected a count after `*`");
    std::size_t count = 0;
    for (; peek() >= '0' && peek() <= '9'; ++next_) {
      count = std::min(kMaxExpanded + 1, count * 10 + static_cast<std::size_t>(peek() - '0'));
    }
    if (count == 0) refuse(first, "a count of zero; expected 1 or more");
    if (count > kMaxExpanded) refuse(first, too_long());
    return static_cast<int>(count);
  }

  void append_repeated(std::vector<PlacedChar>& out, const std::vector<PlacedChar>& part,
                       int count) const {
    if (out.size() + part.size() * static_cast<std::size_t>(count) > kMaxExpanded) {
      refuse(part.front().place, too_long());
    }
    for (int i = 0; i < count; ++i) out.insert(out.end(), part.begin(), part.end());
  }

  static std::string too_long() {
    return "more than " + std::to_string(kMaxExpanded) + " characters when written out";
  }

  const std::string& text_;
  std::vector<PlacedChar> chars_;
  std::size_t next_ = 0;
};

// Order within the model: E, then every t, then every m, then L.
void check_order(const Reader& reader, const std::vector<PlacedChar>& chars,
                 const std::string& text) {
  if (chars.empty() || chars.front().value != 'E') {
    reader.refuse(chars.empty() ? 0 : chars.front().place,
                  "expected E, the embedding, as the first character");
  }
  bool loss = false;
  bool mtp = false;
  for (std::size_t i = 1; i < chars.size(); ++i) {
    const auto [value, place] = chars[i];
    if (loss) reader.refuse(place, "nothing stands behind L, the loss: it ends the last stage");
    if (value == 'E') reader.refuse(place, "a second E; there is one embedding");
    if (value == 't' && mtp) {
      reader.refuse(place, "a decoder layer after an MTP layer; MTP layers come last");
    }
    if (value == 'm') mtp = true;
    if (value == 'L') loss = true;
  }
  if (!loss) reader.refuse(text.size(), "expected L, the loss, at the end of the last stage");
}

}  // namespace

std::vector<StageLayers> parse_layout_string(const std::string& text) {
  Reader reader(text);
  const std::vector<PlacedChar> chars = reader.expand();
  check_order(reader, chars, text);

  std::vector<StageLayers> stages(1);
  int decoder_layers = 0;
  int mtp_layers = 0;
  for (const PlacedChar& c : chars) {
    if (c.value == '|') stages.emplace_back();
    if (c.value == 'E') stages.back().embedding = true;
    if (c.value == 't') stages.back().decoder_layers.push_back(decoder_layers++);
    if (c.value == 'm') stages.back().mtp_layers.push_back(mtp_layers++);
    if (c.value == 'L') stages.back().loss = true;
  }
  return stages;
}

std::string print_layout_string(const std::vector<StageLayers>& stages) {
  std::string text;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (s > 0) text += '|';
    text += stage_text(stages[s]);
  }
  return text;
}

}  // namespace weft
