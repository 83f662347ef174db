#include "train/engine.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "train/gather.h"
#include "train/wire_values.h"

namespace weft {
namespace {

at::ScalarType compute_type(const std::string& name) {
  if (name == "fp64") return at::kDouble;
  return name == "bf16" ? at::kBFloat16 : at::kFloat;
}

// One micro-batch's cross entropy, or one layer's share of the balance loss, as ranks send it to
// each other.
struct LossTerm {
  std::int64_t order = 0;  // (micro-batch, data parallel rank, stage)
  double cross_entropy_sum = 0;
  double aux_loss = 0;
};

}  // namespace

Engine::Engine(const Config& config, const RunPlan& plan, Communicator& communicator)
    : plan_(plan), micro_batch_size_(plan.sizes.micro_batch_size) {
  store_.compute_type = compute_type(config.train.params_dtype);
  store_.main_type = store_.compute_type == at::kDouble ? at::kDouble : at::kFloat;
  store_.device = at::Device(config.launch.device);
  groups_ = create_groups(communicator, plan.mesh, plan.layout.map);
  const Coordinates at = coordinates_of(plan.mesh, communicator.rank());
  const ExpertShard shard{at.ep, plan.mesh.ep_size};
  for (int chunk = 0; chunk < plan.layout.map.chunks_per_rank; ++chunk) {
    const Stage stage = plan.layout.map.stage_of(Rank(at.pp), Chunk(chunk));
    stages_[stage] = std::make_unique<StageRunner>(config.model, plan.layout, stage, shard, store_,
                                                   wgrads_, hand_over_);
  }
  initialise(store_, config.train.seed, config.model.init_method_std);
  const std::int64_t rows = std::int64_t{micro_batch_size_} * config.model.seq_length;
  context_ = {.coordinates = at,
              .map = plan.layout.map,
              .groups = &groups_,
              .stages = &stages_,
              .hand_over = &hand_over_,
              .sum_gradients = [this](const Wire& wire) { return sum_gradients(wire); },
              .new_hidden =
                  [this, rows, hidden = config.model.hidden_size] {
                    return at::empty({rows, hidden},
                                     at::TensorOptions(store_.device).dtype(store_.compute_type));
                  }};
}

Recording Engine::run(const StepPlan& steps, const std::vector<MicroBatchData>& micro_batches,
                      std::int64_t valid_labels, bool grad) {
  const double loss_scale = valid_labels > 0 ? 1.0 / static_cast<double>(valid_labels) : 0.0;
  const double aux_scale = 1.0 / (static_cast<double>(micro_batches.size()) * plan_.mesh.dp_size);
  for (auto& [stage, runner] : stages_) {
    const StageLayers& layers = plan_.layout.stages[stage.value];
    runner->begin_step(loss_scale, aux_scale, grad);
    if (!layers.embedding && !layers.loss) continue;
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      runner->set_data(MicroBatch(static_cast<int>(m)), micro_batches[m]);
    }
  }
  return execute(steps.ranks[context_.coordinates.pp], context_, memory_);
}

StepRecord Engine::forward_backward(const StepInput& input) {
  memory_.reset();
  store_.zero_grad();
  StepRecord record;
  record.recording = run(plan_.steps, input.micro_batches, input.valid_labels, /*grad=*/true);
  record.peak_activation_bytes = memory_.peak_bytes();
  weft_assert(wgrads_.empty(), "no weight gradient is pending when the optimizer steps");
  weft_assert(hand_over_.empty(), "no hand-over is left at the end of a step");
  sum_tied_gradients();
  record.losses = gather_losses(input.valid_labels);
  return record;
}

StepLosses Engine::evaluate(const StepInput& input) {
  run(plan_.forward_steps, input.micro_batches, input.valid_labels, /*grad=*/false);
  return gather_losses(input.valid_labels);
}

std::vector<at::Tensor> Engine::logits(const std::vector<MicroBatchData>& micro_batches) {
  const auto last = stages_.find(Stage(plan_.layout.map.num_stages() - 1));
  if (last != stages_.end()) last->second->keep_logits();
  run(plan_.forward_steps, micro_batches, /*valid_labels=*/0, /*grad=*/false);
  std::vector<at::Tensor> logits;
  if (last == stages_.end()) return logits;
  for (std::size_t m = 0; m < micro_batches.size(); ++m) {
    logits.push_back(last->second->logits(MicroBatch(static_cast<int>(m))));
  }
  return logits;
}

WorkPtr Engine::sum_gradients(const Wire& wire) {
  const Bucket bucket(wire.stage, wire.layer);
  if (wire.kind == WireKind::ReduceGrad) {
    const auto [sum, is_new] = sums_.try_emplace(bucket, tensors_of(wire.stage, wire.layer));
    weft_assert(is_new, "a bucket is reduced once a step");
    return sum->second.reduce();
  }
  auto sum = sums_.extract(bucket);
  weft_assert(!sum.empty(), "a bucket is gathered after it is reduced");
  return sum.mapped().gather();
}

std::vector<SumBucket> Engine::tensors_of(Stage stage, int layer) {
  std::vector<at::Tensor> dense;
  std::vector<at::Tensor> experts;
  for (Parameter& parameter : store_.parameters) {
    if (parameter.stage != stage || parameter.layer != layer) continue;
    (parameter.expert ? experts : dense).push_back(parameter.grad);
  }
  return {{groups_.dp, std::move(dense)}, {groups_.edp, std::move(experts)}};
}

void Engine::sum_tied_gradients() {
  // Embedding first, then head, wherever the two places lie: the first stage has the lower rank.
  Parameter* embedding = nullptr;
  Parameter* head = nullptr;
  for (Parameter& parameter : store_.parameters) {
    if (parameter.slices.front().name != "model.embed_tokens.weight") continue;
    (embedding == nullptr && parameter.stage == Stage(0) ? embedding : head) = &parameter;
  }
  if (embedding != nullptr && head != nullptr) {
    embedding->grad.add_(head->grad);
    head->grad.copy_(embedding->grad);
  } else if (groups_.tie != nullptr && plan_.tied_embeddings) {
    sum_in_rank_order({{groups_.tie, {(embedding != nullptr ? embedding : head)->grad}}});
  }
}

StepLosses Engine::gather_losses(std::int64_t valid_labels) {
  const Coordinates& at = context_.coordinates;
  const int num_stages = plan_.layout.map.num_stages();
  std::vector<LossTerm> terms;
  for (int m = 0; m < plan_.steps.num_micro_batches; ++m) {
    for (const auto& [stage, runner] : stages_) {
      const MicroBatchLosses& losses = runner->losses(MicroBatch(m));
      const std::int64_t order =
          (std::int64_t{m} * plan_.mesh.dp_size + at.dp) * num_stages + stage.value;
      terms.push_back({order, losses.cross_entropy_sum, 0});
      for (const double aux_loss : losses.aux_losses) terms.push_back({order, 0, aux_loss});
    }
  }
  std::vector<LossTerm> all_terms;
  for (const std::string& bytes : gather_bytes(*groups_.world, bytes_of(terms))) {
    const std::vector<LossTerm> of_rank = values_of<LossTerm>(bytes);
    all_terms.insert(all_terms.end(), of_rank.begin(), of_rank.end());
  }
  // Layer by layer, so that the sum does not depend on the cut into stages.
  std::stable_sort(all_terms.begin(), all_terms.end(),
                   [](const LossTerm& a, const LossTerm& b) { return a.order < b.order; });
  StepLosses sum;
  for (const LossTerm& term : all_terms) {
    sum.loss += term.cross_entropy_sum;
    sum.aux_loss += term.aux_loss;
  }
  if (valid_labels > 0) sum.loss /= static_cast<double>(valid_labels);
  sum.aux_loss /= static_cast<double>(plan_.steps.num_micro_batches) * plan_.mesh.dp_size;
  return sum;
}

}  // namespace weft
