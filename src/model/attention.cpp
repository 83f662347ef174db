#include "model/attention.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.h"
#include "model/linear.h"

namespace weft {
namespace {

enum class Turn { Forward, Back };

// Turns heads [B, S, n, head_size] in place; Back is the inverse, which is also the gradient.
void rotate_(at::Tensor heads, const RotaryTable& table, Turn turn) {
  if (heads.scalar_type() != table.cosine.scalar_type()) {
    at::Tensor wide = heads.to(table.cosine.scalar_type());
    rotate_(wide, table, turn);
    heads.copy_(wide);
    return;
  }
  const double sign = turn == Turn::Forward ? 1 : -1;
  const std::int64_t half = heads.size(3) / 2;
  at::Tensor first = heads.narrow(3, 0, half);
  at::Tensor second = heads.narrow(3, half, half);
  const at::Tensor first_before = first.clone(at::MemoryFormat::Contiguous);
  first.mul_(table.cosine).addcmul_(second, table.sine, -sign);
  second.mul_(table.cosine).addcmul_(first_before, table.sine, sign);
}

struct Projected {
  at::Tensor q, k, v;  // [B, heads, S, head_size], views of one buffer
};

Projected split_heads(const at::Tensor& heads, const ModelShape& shape) {
  const at::Tensor q = heads.narrow(2, 0, shape.heads);
  const at::Tensor k = heads.narrow(2, shape.heads, shape.kv_heads);
  const at::Tensor v = heads.narrow(2, shape.heads + shape.kv_heads, shape.kv_heads);
  return {q.transpose(1, 2).detach(), k.transpose(1, 2).detach(), v.transpose(1, 2).detach()};
}

// The three projections as one product, turned in place.
Projected project(const at::Tensor& x, const Parameter& qkv, const RotaryTable& table,
                  const ModelShape& shape, const PutOff& put_off) {
  const at::Tensor input = x.detach();
  const std::int64_t sequence = table.cosine.size(0);
  const std::int64_t rotated = shape.heads + shape.kv_heads;
  const std::vector<std::int64_t> sizes{input.size(0) / sequence, sequence,
                                        rotated + shape.kv_heads, shape.head_size};
  const at::Tensor heads = at::mm(input, qkv.compute.t()).view(sizes);
  rotate_(heads.narrow(2, 0, rotated), table, Turn::Forward);
  Projected projected = split_heads(heads, shape);
  const auto backward = [=, &qkv](const Tensors& gradients) -> Tensors {
    const at::Tensor d_heads = at::empty(sizes, input.options());
    const Projected parts = split_heads(d_heads, shape);
    at::Tensor(parts.q).copy_(gradients[0]);
    at::Tensor(parts.k).copy_(gradients[1]);
    at::Tensor(parts.v).copy_(gradients[2]);
    rotate_(d_heads.narrow(2, 0, rotated), table, Turn::Back);
    const at::Tensor dy = d_heads.view({input.size(0), -1});
    put_off([=, &qkv] { add_weight_gradient(qkv.grad, dy, input); });
    return {at::mm(dy, qkv.compute)};
  };
  record({x}, {projected.q, projected.k, projected.v}, backward);
  return projected;
}

}  // namespace

RotaryTable rotary_table(std::int64_t sequence, std::int64_t head_size, double base,
                         const at::TensorOptions& options) {
  const at::Tensor exponents =
      at::arange(0, head_size, 2, options).div_(static_cast<double>(head_size));
  const at::Tensor frequencies = at::pow(at::full({}, base, options), exponents).reciprocal_();
  const at::Tensor angles = at::outer(at::arange(sequence, options), frequencies).unsqueeze(1);
  return {angles.cos(), angles.sin()};
}

at::Tensor attention(const at::Tensor& x, const at::Tensor& residual,
                     const AttentionWeights& weights, const RotaryTable& table,
                     const ModelShape& shape, const PutOff& put_off) {
  weft_assert(x.size(0) % table.cosine.size(0) == 0, "tokens are whole sequences");
  const Projected projected = project(x, weights.qkv, table, shape, put_off);
  const at::Tensor attended = at::scaled_dot_product_attention(
      projected.q, projected.k, projected.v, /*attn_mask=*/{}, /*dropout_p=*/0.0,
      /*is_causal=*/true, /*scale=*/std::nullopt, /*enable_gqa=*/shape.heads != shape.kv_heads);
  const at::Tensor joined = attended.transpose(1, 2).reshape({x.size(0), -1});
  return linear_add(joined, weights.output, residual, put_off);
}

}  // namespace weft
