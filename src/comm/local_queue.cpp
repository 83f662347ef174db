#include "comm/local_queue.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "comm/countdown.h"

namespace weft {
namespace {

using std::chrono::duration_cast;
using Clock = std::chrono::steady_clock;

constexpr Clock::duration kNoLimit = Clock::duration::max();

std::size_t bytes_to_others(const std::vector<LocalSpan>& spans, int self) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (static_cast<int>(i) != self) bytes += spans[i].bytes;
  }
  return bytes;
}

}  // namespace

bool LocalFault::set(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (is_set_) return false;
  reason_ = reason;
  is_set_ = true;
  return true;
}

void LocalFault::throw_if_set() const {
  if (!is_set_) return;
  const std::lock_guard lock(mutex_);
  throw RuntimeFault(reason_);
}

LocalQueue::LocalQueue(std::string name, std::vector<Rank> members, const LocalOptions& options,
                       std::shared_ptr<LocalFault> fault)
    : name_(std::move(name)),
      members_(std::move(members)),
      options_(options),
      fault_(std::move(fault)),
      random_(options.delay_seed ^ std::hash<std::string>{}(name_)),
      num_joined_(members_.size()),
      collective_link_{std::vector<TimePoint>(members_.size()),
                       std::vector<TimePoint>(members_.size())} {}

std::shared_ptr<LocalExchange> LocalQueue::new_exchange(int num_needed) const {
  auto exchange = std::make_shared<LocalExchange>();
  exchange->parts.resize(members_.size());
  exchange->ready.resize(members_.size());
  exchange->num_needed = num_needed;
  return exchange;
}

std::shared_ptr<LocalExchange> LocalQueue::join_collective(int member, LocalPart part) {
  const std::lock_guard lock(mutex_);
  const std::size_t index = num_joined_[member]++ - num_matched_;
  if (index == collectives_.size()) {
    collectives_.push_back(new_exchange(static_cast<int>(members_.size())));
  }
  const std::shared_ptr<LocalExchange> exchange = collectives_[index];
  for (const auto& other : exchange->parts) {
    if (!other || other->what == part.what) continue;
    throw InternalError("group '" + name_ + "': " + part.what + " met " + other->what);
  }
  arrive(*exchange, member, std::move(part), collective_link_);
  if (exchange->is_matched()) {
    collectives_.pop_front();
    ++num_matched_;
  }
  return exchange;
}

std::shared_ptr<LocalExchange> LocalQueue::join_message(int member, int from, int to, int tag,
                                                        LocalPart part) {
  const std::lock_guard lock(mutex_);
  Flow& flow = flows_[{from, to}];
  if (flow.link.free.empty()) {
    flow.link.free.resize(members_.size());
    flow.link.latest.resize(members_.size());
  }
  if (flow.pending.empty() || flow.pending.front()->parts[member]) {
    flow.pending.push_back(new_exchange(2));
    flow.pending.back()->tag = tag;
    arrive(*flow.pending.back(), member, std::move(part), flow.link);
    return flow.pending.back();
  }
  const std::shared_ptr<LocalExchange> exchange = flow.pending.front();
  if (exchange->tag != tag) {
    throw InternalError("group '" + name_ + "': " + part.what + " met tag " +
                        std::to_string(exchange->tag));
  }
  flow.pending.pop_front();
  arrive(*exchange, member, std::move(part), flow.link);
  return exchange;
}

void LocalQueue::arrive(LocalExchange& exchange, int member, LocalPart part, Link& link) {
  exchange.parts[member] = std::move(part);
  // Each pair's bytes move when its second end starts: both tensors are sure to be there.
  for (std::size_t other = 0; other < members_.size(); ++other) {
    if (!exchange.parts[other]) continue;
    const int peer = static_cast<int>(other);
    copy(exchange, member, peer);
    if (peer != member) copy(exchange, peer, member);
  }
  exchange.last_start = Clock::now();
  ++exchange.num_arrived;
  if (!exchange.is_matched()) return;
  schedule(exchange, link);
  for (auto& joined : exchange.parts) {
    if (joined) joined->input = joined->output = at::Tensor();
  }
  changed_.notify_all();
}

void LocalQueue::copy(const LocalExchange& exchange, int from, int to) const {
  const LocalPart& sender = *exchange.parts[from];
  const LocalPart& receiver = *exchange.parts[to];
  const LocalSpan source = sender.to.empty() ? LocalSpan() : sender.to[to];
  const LocalSpan target = receiver.from.empty() ? LocalSpan() : receiver.from[from];
  if (source.bytes != target.bytes) {
    throw InternalError("group '" + name_ + "': " + receiver.what + " on rank " +
                        std::to_string(members_[to].value) + " expects " +
                        std::to_string(target.bytes) + " bytes from rank " +
                        std::to_string(members_[from].value) + ", which sends " +
                        std::to_string(source.bytes));
  }
  if (source.bytes > 0) std::memcpy(target.data, source.data, source.bytes);
}

void LocalQueue::schedule(LocalExchange& exchange, Link& link) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!exchange.parts[i]) continue;
    const LocalPart& part = *exchange.parts[i];
    const int self = static_cast<int>(i);
    const std::size_t bytes = std::max(bytes_to_others(part.to, self),  //
                                       bytes_to_others(part.from, self));
    TimePoint& free = link.free[i];
    free = std::max(free, exchange.last_start);
    TimePoint ready = free;
    if (members_.size() > 1) {
      if (options_.bytes_per_second > 0) {
        const std::chrono::duration<double> sending(static_cast<double>(bytes) /
                                                    options_.bytes_per_second);
        free += duration_cast<Clock::duration>(sending);
      }
      std::uniform_int_distribution<std::int64_t> delay(0, options_.max_delay.count());
      ready = free + options_.latency + std::chrono::microseconds(delay(random_));
    }
    link.latest[i] = exchange.ready[i] = std::max(ready, link.latest[i]);
  }
}

std::optional<TimePoint> LocalQueue::wait(const LocalExchange& exchange, int member) {
  std::unique_lock lock(mutex_);
  Countdown countdown(options_.deadline);
  while (true) {
    fault_->throw_if_set();
    const TimePoint now = Clock::now();
    if (exchange.is_matched() && exchange.ready[member] <= now) return exchange.ready[member];
    if (countdown.is_over()) return std::nullopt;
    countdown.wait_once(changed_, lock,
                        exchange.is_matched() ? exchange.ready[member] - now : kNoLimit);
  }
}

std::vector<Rank> LocalQueue::missing_members(const LocalExchange& exchange) {
  const std::lock_guard lock(mutex_);
  std::vector<Rank> missing;
  // Of a message only the peer can be missing; the caller knows which that is.
  if (exchange.is_matched() || exchange.num_needed < static_cast<int>(members_.size())) {
    return missing;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!exchange.parts[i]) missing.push_back(members_[i]);
  }
  return missing;
}

void LocalQueue::wake_all() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace weft
