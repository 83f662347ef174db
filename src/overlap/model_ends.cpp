#include "overlap/model_ends.h"

#include <ATen/ATen.h>

#include <utility>

#include "base/error.h"
#include "model/head.h"
#include "model/linear.h"
#include "model/norm.h"

namespace weft {

EmbeddingRunner::EmbeddingRunner(const ModelShape& shape, Stage stage, ParameterStore& store)
    : weight_(&create_embedding(store, shape, stage)) {}

at::Tensor EmbeddingRunner::forward(const Segment& segment, const at::Tensor& tokens) {
  weft_assert(tokens.defined(), "the first stage has its tokens");
  const at::Tensor index = tokens.flatten();
  if (at::GradMode::is_enabled()) tokens_[segment.micro_batch] = index;
  return weight_->compute.index_select(0, index);
}

void EmbeddingRunner::put_off_wgrad(const Segment& segment, at::Tensor gradient,
                                    WgradStore& wgrads) {
  auto kept = tokens_.extract(segment.micro_batch);
  weft_assert(!kept.empty(), "Embedding has run forward");
  wgrads.push(segment, [weight = weight_, index = kept.mapped(), gradient = std::move(gradient)] {
    at::Tensor(weight->grad).index_add_(0, index, gradient.to(weight->grad.scalar_type()));
  });
}

HeadRunner::HeadRunner(const ModelShape& shape, Stage stage, ParameterStore& store,
                       WgradStore& wgrads)
    : parameters_(create_head(store, shape, stage)),
      epsilon_(shape.norm_epsilon),
      wide_(store.main_type),
      wgrads_(&wgrads) {}

HeadRunner::Result HeadRunner::forward(const Segment& segment, const at::Tensor& hidden,
                                       const at::Tensor& labels) {
  const PutOff later = [wgrads = wgrads_, segment](WgradTerm wgrad) {
    wgrads->push(segment, std::move(wgrad));
  };
  State state;
  state.normed =
      state.graph.output(rms_norm(state.graph.input(hidden), *parameters_.norm, epsilon_, later));
  state.logits = at::mm(state.normed, parameters_.output->compute.t());
  Result result;
  result.logits = state.logits;
  if (labels.defined()) {
    state.labels = labels.flatten();
    CrossEntropy loss = cross_entropy(state.logits, state.labels, wide_);
    result.cross_entropy_sum = std::move(loss.sum);
    state.log_sum = std::move(loss.log_sum);
  }
  if (at::GradMode::is_enabled()) states_[segment.micro_batch] = std::move(state);
  return result;
}

at::Tensor HeadRunner::dgrad(const Segment& segment, double loss_scale) {
  auto kept = states_.extract(segment.micro_batch);
  weft_assert(!kept.empty(), "Head has run forward");
  State state = std::move(kept.mapped());
  weft_assert(state.labels.defined(), "the last stage has its labels");
  const Parameter* weight = parameters_.output;
  const at::Tensor d_logits =
      cross_entropy_gradient(state.logits, state.labels, state.log_sum, loss_scale);
  state.logits.reset();
  wgrads_->push(segment, [weight, d_logits, normed = std::move(state.normed)] {
    add_weight_gradient(weight->grad, d_logits, normed);
  });
  return state.graph.backward({at::mm(d_logits, weight->compute)})[0];
}

}  // namespace weft
