// The first error of the world, posted in the store and watched by every rank. Internal to comm/.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/ids.h"

namespace weft {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

class FaultBoard {
 public:
  // `store` is for posting, `watched` a connection of the watcher's own; both see the same keys.
  FaultBoard(Rank rank, StorePtr store, StorePtr watched);
  ~FaultBoard();

  // Guards `fault` and whatever exchanges keep; `changed` wakes their waiters.
  std::mutex& mutex() { return mutex_; }
  std::condition_variable& changed() { return changed_; }
  // With the mutex held.
  const std::optional<std::string>& fault() const { return fault_; }
  bool has_fault();

  // Posts `reason` unless an earlier one is there; wakes every waiter. Returns the first one.
  std::string post(const std::string& reason);
  [[noreturn]] void fail(const std::string& reason);  // posts and throws RuntimeFault

  void stop_watching();

 private:
  void watch();
  void set_fault(const std::string& reason);

  const Rank rank_;
  const StorePtr store_, watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> fault_;
  bool is_stopping_ = false;
  std::thread watcher_;
};

}  // namespace weft
