// The first error of the world, posted in the store and watched by every rank. Internal to comm/.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "comm/rendezvous.h"
#include "comm/timed_store.h"

namespace weft {

// Counts per rank that rise while its process runs; empty if the store gave none.
using SignsOfLife = std::vector<std::int64_t>;

class FaultBoard {
 public:
  // `store` is for posting, `watched` a connection of the watcher's own; both see the same keys. A
  // store that does not answer the watcher for `deadline` is a fault.
  FaultBoard(const Rendezvous& place, TimedStorePtr store, TimedStorePtr watched,
             std::chrono::milliseconds deadline);
  ~FaultBoard();

  // Guards `fault` and whatever exchanges keep; `changed` wakes their waiters.
  std::mutex& mutex() { return mutex_; }
  std::condition_variable& changed() { return changed_; }
  // With the mutex held.
  const std::optional<std::string>& fault() const { return fault_; }
  bool has_fault();

  // Posts `reason` unless an earlier one is there; wakes every waiter and ends all calls on the
  // stores. Returns the first one, or this one where the store gives no answer within 2 s; in the
  // process that hosts the store after the others have had time to read it.
  std::string post(const std::string& reason);
  [[noreturn]] void fail(const std::string& reason);  // posts and throws RuntimeFault

  // A process that shows no sign for as long as this does not run; less than half the deadline.
  std::chrono::milliseconds longest_silence() const { return longest_silence_; }
  SignsOfLife signs_of_life();
  // "rank 0 does not respond: it has stopped or cannot be reached; ", of the ranks that have shown
  // no sign since `before`; empty if all have.
  std::string silent_since(const SignsOfLife& before);

  void stop_watching();

 private:
  void watch();
  bool is_stopping();
  std::string first_with(const std::string& reason);  // the store's error, which may be `reason`
  void set_fault(const std::string& reason);

  const Rendezvous place_;
  const TimedStorePtr store_, watched_;
  const std::chrono::milliseconds deadline_, longest_silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> fault_;
  std::chrono::steady_clock::time_point fault_at_;
  bool is_stopping_ = false;
  std::thread watcher_;
};

}  // namespace weft
