// Groups of ranks and what they exchange. One interface over ranks as threads (local) and c10d
// process groups (Gloo, NCCL). Starting never blocks; waiting has a deadline.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"

namespace weft {

// CLOCK_MONOTONIC, one clock for all processes of a host.
using TimePoint = std::chrono::steady_clock::time_point;

// One exchange under way.
class Work {
 public:
  virtual ~Work() = default;
  // Blocks until complete. On CUDA makes the current stream wait instead. Throws RuntimeFault
  // naming the group, what was waited for and the peers when the deadline passes or a peer is gone.
  virtual void wait() = 0;
  // When it completed here; valid after wait().
  virtual TimePoint completed() const = 0;
};

using WorkPtr = std::shared_ptr<Work>;

// A group's exchanges start in one order on all members; each group is one queue.
class Group {
 public:
  virtual ~Group() = default;

  virtual const std::string& name() const = 0;
  virtual int rank() const = 0;                          // this process within the group
  virtual const std::vector<Rank>& members() const = 0;  // global ranks, ascending
  int size() const { return static_cast<int>(members().size()); }

  // The tensor must be contiguous and is kept alive until the work is complete.
  virtual WorkPtr send(const at::Tensor& tensor, int to, int tag) = 0;
  virtual WorkPtr recv(const at::Tensor& tensor, int from, int tag) = 0;
  // Splits count rows of dimension 0, one per member.
  virtual WorkPtr all_to_all(const at::Tensor& output, const at::Tensor& input,
                             const std::vector<std::int64_t>& output_splits,
                             const std::vector<std::int64_t>& input_splits) = 0;
  // output is [size, ...input].
  virtual WorkPtr all_gather(const at::Tensor& output, const at::Tensor& input) = 0;
  virtual WorkPtr barrier() = 0;
};

using GroupPtr = std::shared_ptr<Group>;

// The name of the group whose tensors lie on the host, whatever the device of all others.
inline constexpr const char* kWorldGroup = "world";

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual int world_size() const = 0;
  // Called by every rank of the world in the same order, members and non-members alike; null for a
  // rank that is not a member. A group of one works and copies locally.
  virtual GroupPtr new_group(const std::string& name, const std::vector<Rank>& members) = 0;
  // Ends every wait of every rank with this error: the first one wins.
  virtual void abort(const std::string& reason) = 0;
};

using CommunicatorPtr = std::shared_ptr<Communicator>;

}  // namespace weft
