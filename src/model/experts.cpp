#include "model/experts.h"

#include <ATen/ATen.h>

#include <numeric>

#include "base/error.h"
#include "model/linear.h"

namespace weft {
namespace {

using Counts = std::vector<std::int64_t>;

// The rows by (expert, source rank, token): `sorted[i]` is the received row that comes i-th.
struct Order {
  at::Tensor sorted;   // [R] int64
  at::Tensor inverse;  // [R]
  Counts rows;         // [count] per expert
};

Order order_by_expert(const Counts& counts, std::int64_t experts, at::Device device) {
  Counts first(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), first.begin(), std::int64_t{0});
  const std::int64_t num_rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  Order order;
  order.rows.assign(static_cast<std::size_t>(experts), 0);
  order.sorted = at::empty({num_rows}, at::kLong);
  order.inverse = at::empty({num_rows}, at::kLong);
  auto* sorted = order.sorted.mutable_data_ptr<std::int64_t>();
  auto* inverse = order.inverse.mutable_data_ptr<std::int64_t>();
  std::int64_t next = 0;
  for (std::size_t expert = 0; expert < order.rows.size(); ++expert) {
    for (std::size_t block = expert; block < counts.size(); block += order.rows.size()) {
      for (std::int64_t row = first[block]; row < first[block] + counts[block]; ++row) {
        inverse[row] = next;
        sorted[next++] = row;
      }
      order.rows[expert] += counts[block];
    }
  }
  order.sorted = order.sorted.to(device);
  order.inverse = order.inverse.to(device);
  return order;
}

// x[index]; its gradient is gathered with the inverse permutation.
at::Tensor permute_rows(const at::Tensor& x, const at::Tensor& index, const at::Tensor& inverse) {
  at::Tensor y = x.detach().index_select(0, index);
  record({x}, {y}, [inverse](const Tensors& gradients) -> Tensors {
    return {gradients[0].index_select(0, inverse)};
  });
  return y;
}

}  // namespace

at::Tensor expert_feed_forward(const at::Tensor& received, const Parameter& gate_up,
                               const Parameter& down, const Counts& counts, const PutOff& put_off) {
  const std::int64_t experts = gate_up.main.size(0);
  if (static_cast<std::int64_t>(counts.size()) == experts) {  // one source: sorted already
    return swiglu_feed_forward(received, gate_up, down, counts, /*residual=*/{}, put_off);
  }
  const Order order = order_by_expert(counts, experts, received.device());
  weft_assert(order.sorted.size(0) == received.size(0), "as many rows as the counts say");
  const at::Tensor sorted = permute_rows(received, order.sorted, order.inverse);
  const at::Tensor y =
      swiglu_feed_forward(sorted, gate_up, down, order.rows, /*residual=*/{}, put_off);
  return permute_rows(y, order.inverse, order.sorted);
}

}  // namespace weft
