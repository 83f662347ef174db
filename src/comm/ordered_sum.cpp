#include "comm/ordered_sum.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

std::int64_t count_elements(const std::vector<at::Tensor>& tensors) {
  std::int64_t numel = 0;
  for (const at::Tensor& tensor : tensors) numel += tensor.numel();
  return numel;
}

// The tensors of a bucket end to end, padded to a multiple of the group's size: [n, slice].
at::Tensor flatten(const std::vector<at::Tensor>& tensors, std::int64_t numel,
                   std::int64_t group_size) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
  const std::int64_t padding = (group_size - numel % group_size) % group_size;
  if (padding > 0) flat.push_back(at::zeros({padding}, tensors.front().options()));
  return at::cat(flat).view({group_size, -1});
}

void unflatten(const at::Tensor& flat, const std::vector<at::Tensor>& tensors) {
  const at::Tensor values = flat.view({-1});
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    tensor.copy_(values.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

}  // namespace

struct OrderedSum::Part {
  GroupPtr group;
  std::vector<at::Tensor> tensors;
  at::Tensor source;   // [n, share]; the sums in the end
  at::Tensor arrived;  // [n, share]; this rank's share of each member
  at::Tensor sum;      // [share]
  WorkPtr work;
};

class OrderedSum::Reduce : public Work {
 public:
  explicit Reduce(std::shared_ptr<std::vector<Part>> parts) : parts_(std::move(parts)) {
    for (Part& part : *parts_) {
      const std::vector<std::int64_t> one_row_each(part.group->size(), 1);
      part.work = part.group->all_to_all(part.arrived, part.source, one_row_each, one_row_each);
    }
  }

  void wait() override {
    completed_ = std::chrono::steady_clock::now();
    for (Part& part : *parts_) {
      part.work->wait();
      completed_ = std::max(completed_, part.work->completed());
      part.sum = part.arrived[0];
      for (int member = 1; member < part.group->size(); ++member) {
        part.sum.add_(part.arrived[member]);
      }
    }
  }

  TimePoint completed() const override { return completed_; }

 private:
  std::shared_ptr<std::vector<Part>> parts_;
  TimePoint completed_;
};

class OrderedSum::Gather : public Work {
 public:
  explicit Gather(std::shared_ptr<std::vector<Part>> parts) : parts_(std::move(parts)) {
    for (Part& part : *parts_) {
      weft_assert(part.sum.defined(), "what was summed is gathered");
      part.work = part.group->all_gather(part.source, part.sum);
    }
  }

  void wait() override {
    completed_ = std::chrono::steady_clock::now();
    for (Part& part : *parts_) {
      part.work->wait();
      completed_ = std::max(completed_, part.work->completed());
      unflatten(part.source, part.tensors);
    }
    parts_->clear();
  }

  TimePoint completed() const override { return completed_; }

 private:
  std::shared_ptr<std::vector<Part>> parts_;
  TimePoint completed_;
};

OrderedSum::OrderedSum(std::vector<SumBucket> buckets)
    : parts_(std::make_shared<std::vector<Part>>()) {
  for (auto& [group, tensors] : buckets) {
    const std::int64_t numel = count_elements(tensors);
    if (group == nullptr || group->size() == 1 || numel == 0) continue;
    Part part{group, std::move(tensors), {}, {}, {}, {}};
    part.source = flatten(part.tensors, numel, group->size());
    part.arrived = at::empty_like(part.source);
    parts_->push_back(std::move(part));
  }
}

WorkPtr OrderedSum::reduce() { return std::make_shared<Reduce>(parts_); }

WorkPtr OrderedSum::gather() { return std::make_shared<Gather>(parts_); }

void sum_in_rank_order(std::vector<SumBucket> buckets) {
  OrderedSum sum(std::move(buckets));
  sum.reduce()->wait();
  sum.gather()->wait();
}

}  // namespace weft
