#include "bench/bound_communicator.h"

#include <utility>

#include "base/error.h"

namespace weft {
namespace {

class CopyDone : public Work {
 public:
  void wait() override {}
  TimePoint completed() const override { return completed_; }

 private:
  TimePoint completed_ = std::chrono::steady_clock::now();
};

class CopyGroup : public Group {
 public:
  explicit CopyGroup(GroupPtr inner) : inner_(std::move(inner)) {}

  const std::string& name() const override { return inner_->name(); }
  int rank() const override { return inner_->rank(); }
  const std::vector<Rank>& members() const override { return inner_->members(); }

  WorkPtr send(const at::Tensor& tensor, int to, int tag) override {
    return inner_->send(tensor, to, tag);
  }
  WorkPtr recv(const at::Tensor& tensor, int from, int tag) override {
    return inner_->recv(tensor, from, tag);
  }
  WorkPtr all_to_all(const at::Tensor& output, const at::Tensor& input,
                     const std::vector<std::int64_t>& /*output_splits*/,
                     const std::vector<std::int64_t>& /*input_splits*/) override {
    weft_assert(output.sizes() == input.sizes(), "a rank gets back what it sent");
    output.copy_(input);
    return std::make_shared<CopyDone>();
  }
  WorkPtr all_gather(const at::Tensor& output, const at::Tensor& input) override {
    return inner_->all_gather(output, input);
  }
  WorkPtr barrier() override { return inner_->barrier(); }

 private:
  GroupPtr inner_;
};

class BoundCommunicator : public Communicator {
 public:
  explicit BoundCommunicator(CommunicatorPtr inner) : inner_(std::move(inner)) {}

  Rank rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  GroupPtr new_group(const std::string& name, const std::vector<Rank>& members) override {
    GroupPtr group = inner_->new_group(name, members);
    const bool replaced = name.rfind("ep", 0) == 0 || name.rfind("counts", 0) == 0;
    return group != nullptr && replaced ? std::make_shared<CopyGroup>(group) : group;
  }
  void abort(const std::string& reason) override { inner_->abort(reason); }

 private:
  CommunicatorPtr inner_;
};

}  // namespace

CommunicatorPtr make_bound_communicator(CommunicatorPtr inner) {
  return std::make_shared<BoundCommunicator>(std::move(inner));
}

}  // namespace weft
