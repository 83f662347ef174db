#include "comm/local.h"

#include <ATen/Parallel.h>

#include <exception>
#include <thread>
#include <utility>

#include "base/error.h"
#include "comm/fault_text.h"
#include "comm/local_queue.h"

namespace weft {

class LocalWorld::Impl {
 public:
  Impl(int num_ranks, const LocalOptions& options) : num_ranks_(num_ranks), options_(options) {}

  int num_ranks() const { return num_ranks_; }
  const LocalOptions& options() const { return options_; }

  // The `index`th group that was created; every rank must name the same one.
  std::shared_ptr<LocalQueue> queue(std::size_t index, const std::string& name,
                                    const std::vector<Rank>& members) {
    const std::lock_guard lock(mutex_);
    if (index == queues_.size()) {
      queues_.push_back(std::make_shared<LocalQueue>(name, members, options_, fault_));
    }
    if (queues_[index]->name() != name || queues_[index]->members() != members) {
      throw InternalError("group " + std::to_string(index) + " is '" + queues_[index]->name() +
                          "' on one rank and '" + name + "' on another");
    }
    return queues_[index];
  }

  void abort(const std::string& reason) {
    if (!fault_->set(reason)) return;
    const std::lock_guard lock(mutex_);
    for (const auto& queue : queues_) queue->wake_all();
  }

  void throw_if_aborted() const { fault_->throw_if_set(); }

 private:
  const int num_ranks_;
  const LocalOptions options_;
  const std::shared_ptr<LocalFault> fault_ = std::make_shared<LocalFault>();
  std::mutex mutex_;
  std::vector<std::shared_ptr<LocalQueue>> queues_;
};

namespace {

using WorldPtr = std::shared_ptr<LocalWorld::Impl>;

class LocalWork : public Work {
 public:
  LocalWork(WorldPtr world, std::shared_ptr<LocalQueue> queue, int member, std::string what,
            std::vector<Rank> peers, std::vector<at::Tensor> tensors)
      : world_(std::move(world)),
        queue_(std::move(queue)),
        member_(member),
        what_(std::move(what)),
        peers_(std::move(peers)),
        tensors_(std::move(tensors)) {}

  void set_exchange(std::shared_ptr<LocalExchange> exchange) { exchange_ = std::move(exchange); }

  void wait() override {
    if (is_complete_) return;
    const std::optional<TimePoint> arrived = queue_->wait(*exchange_, member_);
    if (!arrived) fail();
    completed_ = *arrived;
    is_complete_ = true;
    exchange_.reset();
    // Here and not where it was matched: the owner's thread counts the memory that goes.
    tensors_.clear();
  }

  TimePoint completed() const override {
    weft_assert(is_complete_, "completed() is asked for after wait()");
    return completed_;
  }

 private:
  [[noreturn]] void fail() {
    const std::vector<Rank> missing = queue_->missing_members(*exchange_);
    std::string text = exchange_text(queue_->members()[member_], what_, queue_->name(), peers_) +
                       ": not complete after " + seconds_text(world_->options().deadline);
    if (!missing.empty()) text += ": not started by " + ranks_text(missing);
    world_->abort(text);
    world_->throw_if_aborted();
    throw RuntimeFault(text);
  }

  const WorldPtr world_;
  const std::shared_ptr<LocalQueue> queue_;
  const int member_;
  const std::string what_;
  const std::vector<Rank> peers_;
  std::vector<at::Tensor> tensors_;
  std::shared_ptr<LocalExchange> exchange_;
  bool is_complete_ = false;
  TimePoint completed_;
};

LocalSpan whole(const at::Tensor& tensor) {
  return {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()};
}

// Cuts a tensor into runs of rows.
std::vector<LocalSpan> rows(const at::Tensor& tensor, const std::vector<std::int64_t>& splits) {
  std::int64_t total = 0;
  for (const std::int64_t split : splits) total += split;
  weft_assert(total == tensor.size(0), "splits add up to the rows of the tensor");
  const std::size_t row_bytes = total == 0 ? 0 : tensor.nbytes() / total;
  std::vector<LocalSpan> spans;
  char* data = static_cast<char*>(tensor.data_ptr());
  for (const std::int64_t split : splits) {
    spans.push_back({data, split * row_bytes});
    data += split * row_bytes;
  }
  return spans;
}

class LocalGroup : public Group {
 public:
  LocalGroup(WorldPtr world, std::shared_ptr<LocalQueue> queue, int member)
      : world_(std::move(world)), queue_(std::move(queue)), member_(member) {
    for (const Rank rank : members()) {
      if (rank != members()[member_]) peers_.push_back(rank);
    }
  }

  const std::string& name() const override { return queue_->name(); }
  int rank() const override { return member_; }
  const std::vector<Rank>& members() const override { return queue_->members(); }

  WorkPtr send(const at::Tensor& tensor, int to, int tag) override {
    LocalPart part = new_part("send", tensor, at::Tensor());
    part.what += " to " + peer_text(to) + " (tag " + std::to_string(tag) + ")";
    part.to.resize(size());
    part.to[to] = whole(tensor);
    return message(std::move(part), member_, to, tag);
  }

  WorkPtr recv(const at::Tensor& tensor, int from, int tag) override {
    LocalPart part = new_part("recv", at::Tensor(), tensor);
    part.what += " from " + peer_text(from) + " (tag " + std::to_string(tag) + ")";
    part.from.resize(size());
    part.from[from] = whole(tensor);
    return message(std::move(part), from, member_, tag);
  }

  WorkPtr all_to_all(const at::Tensor& output, const at::Tensor& input,
                     const std::vector<std::int64_t>& output_splits,
                     const std::vector<std::int64_t>& input_splits) override {
    LocalPart part = new_part("all-to-all", input, output);
    part.to = rows(input, input_splits);
    part.from = rows(output, output_splits);
    return collective(std::move(part));
  }

  WorkPtr all_gather(const at::Tensor& output, const at::Tensor& input) override {
    LocalPart part = new_part("all-gather", input, output);
    part.to.assign(size(), whole(input));
    part.from = rows(output, std::vector<std::int64_t>(size(), 1));
    return collective(std::move(part));
  }

  WorkPtr barrier() override { return collective(new_part("barrier", at::Tensor(), at::Tensor())); }

 private:
  static LocalPart new_part(std::string what, const at::Tensor& input, const at::Tensor& output) {
    for (const at::Tensor& tensor : {input, output}) {
      if (!tensor.defined()) continue;
      weft_assert(tensor.is_contiguous(), "a tensor that is exchanged is contiguous");
      if (!tensor.is_cpu()) throw RuntimeFault("--communicator threads exchanges CPU tensors only");
    }
    LocalPart part;
    part.what = std::move(what);
    part.input = input;
    part.output = output;
    return part;
  }

  std::string peer_text(int member) const { return ranks_text({members().at(member)}); }

  std::shared_ptr<LocalWork> new_work(const LocalPart& part, std::vector<Rank> peers) {
    world_->throw_if_aborted();
    return std::make_shared<LocalWork>(world_, queue_, member_, part.what, std::move(peers),
                                       std::vector<at::Tensor>{part.input, part.output});
  }

  WorkPtr collective(LocalPart part) {
    const std::shared_ptr<LocalWork> work = new_work(part, peers_);
    work->set_exchange(queue_->join_collective(member_, std::move(part)));
    return work;
  }

  WorkPtr message(LocalPart part, int from, int to, int tag) {
    weft_assert(from != to, "a message goes to another rank");
    const std::shared_ptr<LocalWork> work = new_work(part, {});
    work->set_exchange(queue_->join_message(member_, from, to, tag, std::move(part)));
    return work;
  }

  const WorldPtr world_;
  const std::shared_ptr<LocalQueue> queue_;
  const int member_;
  std::vector<Rank> peers_;
};

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(WorldPtr world, Rank rank) : world_(std::move(world)), rank_(rank) {}

  Rank rank() const override { return rank_; }
  int world_size() const override { return world_->num_ranks(); }

  GroupPtr new_group(const std::string& name, const std::vector<Rank>& members) override {
    const std::shared_ptr<LocalQueue> queue = world_->queue(num_groups_++, name, members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != rank_) continue;
      return std::make_shared<LocalGroup>(world_, queue, static_cast<int>(i));
    }
    return nullptr;
  }

  void abort(const std::string& reason) override { world_->abort(reason); }

 private:
  const WorldPtr world_;
  const Rank rank_;
  std::size_t num_groups_ = 0;
};

}  // namespace

LocalWorld::LocalWorld(int num_ranks, const LocalOptions& options)
    : impl_(std::make_shared<Impl>(num_ranks, options)) {}

LocalWorld::~LocalWorld() = default;

CommunicatorPtr LocalWorld::rank(int rank) {
  weft_assert(rank >= 0 && rank < impl_->num_ranks(), "a rank of the world");
  return std::make_shared<LocalCommunicator>(impl_, Rank(rank));
}

GroupPtr make_group_of_one(const std::string& name, Rank rank) {
  const auto world = std::make_shared<LocalWorld::Impl>(1, LocalOptions());
  return std::make_shared<LocalGroup>(world, world->queue(0, name, {rank}), 0);
}

void run_ranks(int num_ranks, const LocalOptions& options,
               const std::function<void(int, const CommunicatorPtr&)>& body) {
  LocalWorld world(num_ranks, options);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    const CommunicatorPtr communicator = world.rank(rank);
    try {
      at::set_num_threads(options.threads_per_rank);
      body(rank, communicator);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      communicator->abort(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace weft
