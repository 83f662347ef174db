// Ranks as threads of one process, for tests and debugging. Nothing is buffered: a send completes
// when its receive has been posted and the time on the link has passed. CPU tensors only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace weft {

struct LocalOptions {
  // The modelled link. An exchange arrives `latency` + bytes / `bytes_per_second` after its last
  // participant has started it, and after earlier ones of its queue; no core is used meanwhile.
  // Bytes of a collective: the larger of what a member sends and what it receives.
  std::chrono::microseconds latency{0};
  double bytes_per_second = 0;  // 0: no limit
  // Every arrival is later by a random time in [0, max_delay], the same for the same seed.
  std::chrono::microseconds max_delay{0};
  std::uint64_t delay_seed = 0;
  std::chrono::milliseconds deadline{600'000};  // of every wait
  int threads_per_rank = 1;                     // ATen's threads; run_ranks sets them
};

class LocalWorld {
 public:
  explicit LocalWorld(int num_ranks, const LocalOptions& options = {});
  ~LocalWorld();

  // The communicator of one rank, used by that rank's thread. May outlive the world.
  CommunicatorPtr rank(int rank);

  class Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

// A group whose only member is this process, of global rank `rank`: local copies.
GroupPtr make_group_of_one(const std::string& name, Rank rank);

// Runs `body` on `num_ranks` threads. A rank that throws aborts the others; when all have ended the
// first exception is thrown here as it was. Thread-local settings of ATen (grad mode, memory
// reporter, number of threads) start from their defaults in each thread.
void run_ranks(int num_ranks, const LocalOptions& options,
               const std::function<void(int rank, const CommunicatorPtr& communicator)>& body);

}  // namespace weft
