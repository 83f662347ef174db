#include "comm/c10d_communicator.h"

#include <ATen/ATen.h>

#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/error.h"
#include "comm/countdown.h"
#include "comm/exchange_end.h"
#include "comm/fault_board.h"
#include "comm/fault_text.h"
#include "comm/local.h"
#include "comm/meeting.h"
#include "comm/store.h"

namespace weft {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::hours kForever{24 * 365};
constexpr const char* kDoneKey = "done";  // counts the ranks that are through

using TcpStorePtr = c10::intrusive_ptr<c10d::TCPStore>;

TcpStorePtr connect(const std::string& address, int port, std::chrono::milliseconds timeout,
                    bool as_host) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.isServer = as_host;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (as_host && is_loopback(address)) {
    const LoopbackSocket socket = listen_on_loopback(port);
    options.port = static_cast<std::uint16_t>(socket.port);
    options.masterListenFd = socket.file;
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(address, options);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw RuntimeFault("no store at " + address + ":" + std::to_string(port) + ": " +
                       text.substr(0, text.find('\n')));
  }
}

// Two connections to the store: waiting on one does not hold up the other.
struct Stores {
  Stores(const Rendezvous& place, std::chrono::milliseconds timeout) {
    const auto port = std::make_shared<std::atomic<int>>(place.master_port);
    const auto connect_as = [=](bool as_host) {
      return [=, address = place.master_address, prefix = place.key_prefix]() -> StorePtr {
        const TcpStorePtr store = connect(address, *port, timeout, as_host);
        *port = store->getPort();  // where the host has found one
        return c10::make_intrusive<c10d::PrefixStore>(prefix, store);
      };
    };
    const std::string name = "the store at " + place.master_address + ":" +
                             std::to_string(place.master_port) + ", hosted by " + place.store_host +
                             ",";
    own = c10::make_intrusive<TimedStore>(name, timeout, connect_as(place.hosts_store));
    claim_rank(place, *own);
    watched = c10::make_intrusive<TimedStore>(name, timeout, connect_as(false));
  }

  TimedStorePtr own, watched;
};

// What all groups of the process share. Ends with the last of them.
class Core {
 public:
  Core(const Rendezvous& own_place, const C10dOptions& options)
      : Core(own_place, options, Stores(own_place, options.deadline)) {}

  ~Core() {
    try {
      close();
    } catch (const std::exception&) {
      // The store is gone, and with it whoever could have been waited for.
    }
  }

  const Rendezvous place;
  const std::chrono::milliseconds deadline;
  const TimedStorePtr store;
  const BoardPtr board;

  // Throws as meet() does.
  void meet_others(const std::vector<SharedSetting>& settings) {
    try {
      meet(place, *store, *board, deadline, settings);
    } catch (const UserError&) {
      is_refused_ = true;
      throw;
    }
  }

 private:
  Core(const Rendezvous& own_place, const C10dOptions& options, const Stores& stores)
      : place(own_place),
        deadline(options.deadline),
        store(stores.own),
        board(std::make_shared<FaultBoard>(place, stores.own, stores.watched, deadline)) {}

  // Others may still use the store: whoever hosts it is the last to go.
  void close() {
    board->stop_watching();
    if (is_refused_) return;  // as all others are, each by itself
    if (std::uncaught_exceptions() > 0) {
      board->post("rank " + std::to_string(place.rank) + ": ended by an error of its own");
    }
    if (board->has_fault()) return;
    std::int64_t num_done = store->add(kDoneKey, 1);
    const TimePoint limit = steady_clock::now() + deadline;
    while (place.hosts_store && num_done < place.world_size && steady_clock::now() < limit) {
      if (store->check({"fault"})) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      num_done = store->add(kDoneKey, 0);
    }
  }

  bool is_refused_ = false;
};
using CorePtr = std::shared_ptr<Core>;

class C10dWork : public Work {
 public:
  C10dWork(CorePtr core, std::string text, C10dWorkPtr work, EndPtr end, bool is_stream_ordered)
      : core_(std::move(core)),
        text_(std::move(text)),
        work_(std::move(work)),
        end_(std::move(end)),
        is_stream_ordered_(is_stream_ordered) {}

  void wait() override {
    if (is_stream_ordered_) {
      work_->synchronize();
      return;
    }
    wait_for_end();
  }

  TimePoint completed() const override {
    const_cast<C10dWork*>(this)->wait_for_end();
    return end_->at;
  }

 private:
  void wait_for_end() {
    std::string silent;
    std::unique_lock lock(core_->board->mutex());
    const bool in_time = wait_in_time(lock, silent);
    if (end_->is_done && !end_->has_failed) {
      end_->tensors.clear();
      return;
    }
    const std::string reason =
        in_time ? ": " + end_->error : ": not complete after " + seconds_text(core_->deadline);
    lock.unlock();
    core_->board->fail(silent + text_ + reason);
  }

  // False at the deadline; `silent` then tells whose processes do not run.
  bool wait_in_time(std::unique_lock<std::mutex>& lock, std::string& silent) {
    FaultBoard& board = *core_->board;
    const auto is_over = [&] { return end_->is_done || board.fault().has_value(); };
    Countdown until_listening(core_->deadline - board.longest_silence());
    if (until_listening.wait(board.changed(), lock, is_over)) return true;
    lock.unlock();
    const SignsOfLife before = board.signs_of_life();
    lock.lock();
    if (Countdown(board.longest_silence()).wait(board.changed(), lock, is_over)) return true;
    lock.unlock();
    silent = board.silent_since(before);
    lock.lock();
    return false;
  }

  const CorePtr core_;
  const std::string text_;  // what, on which group, with whom
  const C10dWorkPtr work_;
  const EndPtr end_;
  const bool is_stream_ordered_;
};

// A tensor over the same memory that keeps nothing alive: the backend's threads may drop it later
// than the owner's thread drops the real one.
at::Tensor borrowed(const at::Tensor& tensor) {
  weft_assert(tensor.is_contiguous(), "a tensor that is exchanged is contiguous");
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.options());
}

class C10dGroup : public Group {
 public:
  C10dGroup(CorePtr core, std::string name, std::vector<Rank> members, int member,
            BackendPtr backend, bool is_stream_ordered)
      : core_(std::move(core)),
        name_(std::move(name)),
        members_(std::move(members)),
        member_(member),
        backend_(std::move(backend)),
        is_stream_ordered_(is_stream_ordered) {
    for (const Rank rank : members_) {
      if (rank != members_[member_]) peers_.push_back(rank);
    }
  }

  // After a fault, or on the way out of one, a peer may never answer: threads are left to the end
  // of the process.
  ~C10dGroup() override {
    if (!core_->board->has_fault() && std::uncaught_exceptions() == 0) return;
    for (const auto& [flow, waiter] : waiters_) waiter->abandon();
    backend_.release();
  }

  const std::string& name() const override { return name_; }
  int rank() const override { return member_; }
  const std::vector<Rank>& members() const override { return members_; }

  WorkPtr send(const at::Tensor& tensor, int to, int tag) override {
    std::vector<at::Tensor> aliases = {borrowed(tensor)};
    return message("send to ", to, tag, tensor, [&] { return backend_->send(aliases, to, tag); });
  }

  WorkPtr recv(const at::Tensor& tensor, int from, int tag) override {
    std::vector<at::Tensor> aliases = {borrowed(tensor)};
    return message("recv from ", from, tag, tensor,
                   [&] { return backend_->recv(aliases, from, tag); });
  }

  WorkPtr all_to_all(const at::Tensor& output, const at::Tensor& input,
                     const std::vector<std::int64_t>& output_splits,
                     const std::vector<std::int64_t>& input_splits) override {
    at::Tensor to = borrowed(output);
    at::Tensor from = borrowed(input);
    std::vector<std::int64_t> to_splits = output_splits;
    std::vector<std::int64_t> from_splits = input_splits;
    c10d::AllToAllOptions options;
    options.timeout = kForever;
    return collective("all-to-all", {output, input}, [&] {
      return backend_->alltoall_base(to, from, to_splits, from_splits, options);
    });
  }

  WorkPtr all_gather(const at::Tensor& output, const at::Tensor& input) override {
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int member = 0; member < size(); ++member) outputs[0].push_back(borrowed(output[member]));
    std::vector<at::Tensor> inputs = {borrowed(input)};
    c10d::AllgatherOptions options;
    options.timeout = kForever;
    return collective("all-gather", {output, input},
                      [&] { return backend_->allgather(outputs, inputs, options); });
  }

  WorkPtr barrier() override {
    c10d::BarrierOptions options;
    options.timeout = kForever;
    return collective("barrier", {}, [&] { return backend_->barrier(options); });
  }

 private:
  template <class Start>
  WorkPtr collective(const std::string& what, std::vector<at::Tensor> tensors, Start start) {
    const std::string text = exchange_text(Rank(core_->place.rank), what, name_, peers_);
    const auto end = std::make_shared<ExchangeEnd>();
    end->tensors = std::move(tensors);
    const C10dWorkPtr work = start_or_fail(text, start);
    if (is_stream_ordered_) {
      waiter({-1, 0}).add(work, end);
    } else {
      mark_by_future(core_->board, work, end);
    }
    return std::make_shared<C10dWork>(core_, text, work, end, is_stream_ordered_);
  }

  // A flow is all messages from or to one peer: they end in order, whatever others wait for.
  template <class Start>
  WorkPtr message(const std::string& what, int peer, int tag, const at::Tensor& tensor,
                  Start start) {
    const std::string text = exchange_text(
        Rank(core_->place.rank),
        what + ranks_text({members_.at(peer)}) + " (tag " + std::to_string(tag) + ")", name_, {});
    const auto end = std::make_shared<ExchangeEnd>();
    end->tensors = {tensor};
    const C10dWorkPtr work = start_or_fail(text, start);
    const std::pair<int, int> flow = {peer, what.starts_with("send") ? 0 : 1};
    waiter(is_stream_ordered_ ? std::pair(-1, 0) : flow).add(work, end);
    return std::make_shared<C10dWork>(core_, text, work, end, is_stream_ordered_);
  }

  template <class Start>
  C10dWorkPtr start_or_fail(const std::string& text, Start start) {
    try {
      return start();
    } catch (const std::exception& error) {
      const std::string reason = error.what();
      core_->board->fail(text + ": " + reason.substr(0, reason.find('\n')));
    }
  }

  FlowWaiter& waiter(std::pair<int, int> flow) {
    std::unique_ptr<FlowWaiter>& waiter = waiters_[flow];
    if (!waiter) {
      waiter = std::make_unique<FlowWaiter>(core_->board, is_stream_ordered_);
    }
    return *waiter;
  }

  const CorePtr core_;
  const std::string name_;
  const std::vector<Rank> members_;
  const int member_;
  std::vector<Rank> peers_;
  BackendPtr backend_;
  const bool is_stream_ordered_;
  std::map<std::pair<int, int>, std::unique_ptr<FlowWaiter>> waiters_;
};

class C10dCommunicator : public Communicator {
 public:
  C10dCommunicator(CorePtr core, BackendKind device, BackendKind host)
      : core_(std::move(core)), device_(std::move(device)), host_(std::move(host)) {}

  Rank rank() const override { return Rank(core_->place.rank); }
  int world_size() const override { return core_->place.world_size; }

  GroupPtr new_group(const std::string& name, const std::vector<Rank>& members) override {
    const std::string prefix = "group/" + std::to_string(num_groups_++) + "/" + name;
    const auto own = std::find(members.begin(), members.end(), rank());
    if (own == members.end()) return nullptr;
    const BackendKind& kind = name == kWorldGroup ? host_ : device_;
    if (members.size() == 1 && !kind.is_stream_ordered) {
      return make_group_of_one(name, rank());
    }
    const int member = static_cast<int>(own - members.begin());
    try {
      BackendPtr backend = kind.create(c10::make_intrusive<c10d::PrefixStore>(prefix, core_->store),
                                       member, static_cast<int>(members.size()));
      return std::make_shared<C10dGroup>(core_, name, members, member, std::move(backend),
                                         kind.is_stream_ordered);
    } catch (const std::exception& error) {
      const std::string reason = error.what();
      core_->board->fail(exchange_text(rank(), "meeting", name, members) + ": " +
                         reason.substr(0, reason.find('\n')));
    }
  }

  void abort(const std::string& reason) override { core_->board->post(reason); }

 private:
  const CorePtr core_;
  const BackendKind device_;
  const BackendKind host_;
  std::size_t num_groups_ = 0;
};

}  // namespace

CommunicatorPtr make_c10d_communicator(const Rendezvous& place, const C10dOptions& options,
                                       const BackendKind& device, const BackendKind& host) {
  const auto core = std::make_shared<Core>(place, options);
  core->meet_others(options.settings);
  return std::make_shared<C10dCommunicator>(core, device, host);
}

}  // namespace weft
