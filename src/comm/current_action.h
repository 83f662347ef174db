// What this process is doing, for the message of a rank that is told to end or loses a peer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::size_t kMaxActionLength = 255;  // longer texts are cut

// Keeps a copy; lock-free, some ten nanoseconds. Without effect while an exception unwinds this
// thread: the message says where the error came from.
void set_current_action(std::string_view text) noexcept;

// Empty before the first call.
std::string current_action();

// The same into `buffer`, at most `capacity` characters without a zero; returns how many. May be
// called from a signal handler.
std::size_t copy_current_action(char* buffer, std::size_t capacity) noexcept;

}  // namespace weft
