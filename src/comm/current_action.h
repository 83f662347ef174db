// What this process is doing, for the message of a rank that is told to end or loses a peer.
#pragma once

#include <atomic>

namespace weft {

namespace detail {
inline std::atomic<const char*> current_action{""};
}

// `text` must stay readable for as long as the process may be told to end: a literal, or a string
// that lives as long as the run. Costs one store.
inline void set_current_action(const char* text) noexcept {
  detail::current_action.store(text, std::memory_order_release);
}

// Empty before the first call. May be called from a signal handler.
inline const char* current_action() noexcept {
  return detail::current_action.load(std::memory_order_acquire);
}

}  // namespace weft
