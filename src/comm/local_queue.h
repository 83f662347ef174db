// The matching of exchanges in one group of the local communicator.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/local.h"

namespace weft {

// The first error of the world.
class LocalFault {
 public:
  // True if this one was the first.
  bool set(const std::string& reason);
  void throw_if_set() const;

 private:
  std::atomic<bool> is_set_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

struct LocalSpan {
  char* data = nullptr;
  std::size_t bytes = 0;

  bool operator==(const LocalSpan&) const = default;
};

// What one member gives to and takes from the others in one exchange.
struct LocalPart {
  std::string what;             // "all-to-all"; members of a collective must agree
  std::vector<LocalSpan> to;    // [members]; empty: sends nothing
  std::vector<LocalSpan> from;  // [members]; empty: receives nothing
  at::Tensor input, output;     // keep the spans alive until all have arrived
};

struct LocalExchange {
  int tag = 0;
  std::vector<std::optional<LocalPart>> parts;  // [members]
  int num_needed = 0;
  int num_arrived = 0;
  TimePoint last_start;
  std::vector<TimePoint> ready;  // [members], once all have arrived

  bool is_matched() const { return num_arrived == num_needed; }
};

// One group: collectives meet by their number, messages by (sender, receiver) in order.
class LocalQueue {
 public:
  LocalQueue(std::string name, std::vector<Rank> members, const LocalOptions& options,
             std::shared_ptr<LocalFault> fault);

  const std::string& name() const { return name_; }
  const std::vector<Rank>& members() const { return members_; }

  std::shared_ptr<LocalExchange> join_collective(int member, LocalPart part);
  std::shared_ptr<LocalExchange> join_message(int member, int from, int to, int tag,
                                              LocalPart part);
  // Blocks until `exchange` has arrived at `member` and returns when that was; nothing if the
  // deadline passed. Throws RuntimeFault once the world has a fault.
  std::optional<TimePoint> wait(const LocalExchange& exchange, int member);
  // Members that have not started their part; for one that all have, nobody.
  std::vector<Rank> missing_members(const LocalExchange& exchange);
  void wake_all();

 private:
  // When the links of each member are free again, and the latest arrival so far.
  struct Link {
    std::vector<TimePoint> free, latest;  // [members]
  };
  // Messages of one direction between two members; all of `pending` have the same end started.
  struct Flow {
    std::deque<std::shared_ptr<LocalExchange>> pending;
    Link link;
  };

  std::shared_ptr<LocalExchange> new_exchange(int num_needed) const;
  void arrive(LocalExchange& exchange, int member, LocalPart part, Link& link);
  void copy(const LocalExchange& exchange, int from, int to) const;
  void schedule(LocalExchange& exchange, Link& link);

  const std::string name_;
  const std::vector<Rank> members_;
  const LocalOptions options_;
  const std::shared_ptr<LocalFault> fault_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937_64 random_;
  std::deque<std::shared_ptr<LocalExchange>> collectives_;  // not all have started them
  std::size_t num_matched_ = 0;                             // collectives
  std::vector<std::size_t> num_joined_;                     // collectives, [members]
  Link collective_link_;
  std::map<std::pair<int, int>, Flow> flows_;  // (from, to)
};

}  // namespace weft
