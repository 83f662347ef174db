#include "base/names.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace weft {
namespace {

constexpr std::size_t kLongestName = 256;

std::string folded(std::string_view name) {
  std::string text(name.substr(0, kLongestName));
  for (char& c : text) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('-', at), name.size());
    if (end > at) words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  std::ranges::sort(words);
  return words;
}

// Two thirds of the words are the same, whatever their order.
bool same_words(const std::string& a, const std::string& b) {
  const std::vector<std::string> x = words_of(a);
  const std::vector<std::string> y = words_of(b);
  std::vector<std::string> common;
  std::ranges::set_intersection(x, y, std::back_inserter(common));
  return common.size() >= 2 && 3 * common.size() >= 2 * std::max(x.size(), y.size());
}

// `known` with more behind it.
bool continues(const std::string& name, const std::string& known) {
  constexpr std::size_t kShortest = 6;
  return known.size() >= kShortest && name.starts_with(known);
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestName);
  b = b.substr(0, kLongestName);
  // Three rows: the one before last is needed for swaps.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known) {
  const std::string wanted = folded(name);
  std::optional<std::string> nearest;
  int nearest_distance = 0;
  for (const std::string& candidate : known) {
    const std::string other = folded(candidate);
    const int distance = edit_distance(wanted, other);
    const std::size_t longer = std::max(wanted.size(), other.size());
    const bool is_close = static_cast<std::size_t>(distance) * 3 <= longer;
    if (!is_close && !same_words(wanted, other) && !continues(wanted, other)) continue;
    if (nearest.has_value() && distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known,
                         std::string_view prefix) {
  const std::optional<std::string> nearest = nearest_name(name, known);
  if (!nearest.has_value()) return "";
  return " (did you mean " + std::string(prefix) + *nearest + "?)";
}

std::string counted(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " " + std::string(noun);
  if (count == 1) return text;
  return text + (noun.ends_with("ch") || noun.ends_with("s") || noun.ends_with("x") ? "es" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace weft
