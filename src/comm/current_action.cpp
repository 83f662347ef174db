#include "comm/current_action.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

namespace weft {
namespace {

using Text = std::array<std::atomic<char>, kMaxActionLength + 1>;  // ends with a zero

// A reader in a signal handler sees the newest text whole unless this many follow meanwhile.
constexpr unsigned kNumTexts = 8;
std::array<Text, kNumTexts> texts;
std::atomic<unsigned> num_started = 0;
std::atomic<const Text*> newest = &texts[0];

}  // namespace

void set_current_action(std::string_view text) noexcept {
  if (std::uncaught_exceptions() > 0) return;
  Text& target = texts[num_started.fetch_add(1, std::memory_order_relaxed) % kNumTexts];
  const std::size_t length = std::min(text.size(), kMaxActionLength);
  for (std::size_t i = 0; i < length; ++i) target[i].store(text[i], std::memory_order_relaxed);
  target[length].store('\0', std::memory_order_relaxed);
  newest.store(&target, std::memory_order_release);
}

std::size_t copy_current_action(char* buffer, std::size_t capacity) noexcept {
  const Text& text = *newest.load(std::memory_order_acquire);
  std::size_t length = 0;
  while (length < std::min(capacity, kMaxActionLength)) {
    const char c = text[length].load(std::memory_order_relaxed);
    if (c == '\0') break;
    buffer[length++] = c;
  }
  return length;
}

std::string current_action() {
  char buffer[kMaxActionLength];
  return {buffer, copy_current_action(buffer, sizeof buffer)};
}

}  // namespace weft
