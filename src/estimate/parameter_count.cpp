#include "estimate/parameter_count.h"

namespace weft {
namespace {

std::int64_t gated_ffn(std::int64_t hidden, std::int64_t width) { return 3 * hidden * width; }

std::int64_t attention_parameters(const ModelSizes& sizes) {
  std::int64_t count = 0;
  for (const LinearSize& product : attention_products(sizes)) count += product.parameters();
  return count;
}

// The two norms of a layer, and those inside attention.
std::int64_t layer_norms(const ModelSizes& sizes) {
  const std::int64_t both = 2 * sizes.hidden;
  if (sizes.extras.kv_lora_rank > 0) {
    return both + sizes.extras.q_lora_rank + sizes.extras.kv_lora_rank;
  }
  switch (sizes.extras.query_key_norm) {
    case QueryKeyNorm::None:
      return both;
    case QueryKeyNorm::PerHead:
      return both + 2 * sizes.head_size;
    case QueryKeyNorm::Whole:
      return both + (sizes.heads + sizes.kv_heads) * sizes.head_size;
  }
  return both;
}

// Two norms of what it joins, their projection, a decoder layer, a norm ahead of the shared head.
ParameterCount count_mtp_layer(const ModelSizes& sizes, std::int64_t held_experts) {
  const ParameterCount layer = count_layer(sizes, mtp_kind(sizes), held_experts);
  ParameterCount count;
  count.mtp = layer.replicated() + 3 * sizes.hidden + 2 * sizes.hidden * sizes.hidden;
  count.mtp_experts = layer.experts;
  return count;
}

ParameterCount count_with(const ModelSizes& sizes, const Layout& layout, std::int64_t experts) {
  ParameterCount count;
  count.embedding = sizes.vocabulary * sizes.hidden;
  if (!sizes.tied) count.head = sizes.vocabulary * sizes.hidden;
  count.norms = sizes.hidden;
  for (const LayerKind kind : layout.layer_kinds) count += count_layer(sizes, kind, experts);
  for (const StageLayers& stage : layout.stages) {
    for (std::size_t i = 0; i < stage.mtp_layers.size(); ++i) {
      count += count_mtp_layer(sizes, experts);
    }
  }
  return count;
}

}  // namespace

ParameterCount& ParameterCount::operator+=(const ParameterCount& other) {
  embedding += other.embedding;
  attention += other.attention;
  dense_ffn += other.dense_ffn;
  router += other.router;
  experts += other.experts;
  shared_expert += other.shared_expert;
  norms += other.norms;
  head += other.head;
  mtp += other.mtp;
  mtp_experts += other.mtp_experts;
  return *this;
}

ParameterCount count_layer(const ModelSizes& sizes, LayerKind kind, std::int64_t held_experts) {
  ParameterCount count;
  if (kind == LayerKind::Noop) return count;
  count.attention = attention_parameters(sizes);
  count.norms = layer_norms(sizes);
  if (kind == LayerKind::Dense) {
    count.dense_ffn = gated_ffn(sizes.hidden, sizes.ffn);
    return count;
  }
  count.router = sizes.hidden * sizes.experts;
  count.experts = held_experts * gated_ffn(sizes.hidden, sizes.expert_ffn);
  count.shared_expert = gated_ffn(sizes.hidden, sizes.shared_ffn);
  if (sizes.extras.shared_expert_gate) count.shared_expert += sizes.hidden;
  return count;
}

ParameterCount count_model(const ModelSizes& sizes, const Layout& layout) {
  return count_with(sizes, layout, sizes.experts);
}

ParameterCount count_active(const ModelSizes& sizes, const Layout& layout) {
  return count_with(sizes, layout, sizes.topk);
}

ParameterCount count_bucket(const ModelSizes& sizes, const Layout& layout, Stage stage, int layer,
                            int expert_ranks) {
  const StageLayers& here = layout.stages.at(static_cast<std::size_t>(stage.value));
  const std::int64_t held = sizes.experts / expert_ranks;
  if (layer >= 0) {
    return count_layer(sizes, layout.layer_kinds.at(static_cast<std::size_t>(layer)), held);
  }
  const std::int64_t matrix = sizes.vocabulary * sizes.hidden;
  ParameterCount count;
  if (here.embedding) count.embedding = matrix;
  for (std::size_t i = 0; i < here.mtp_layers.size(); ++i) count += count_mtp_layer(sizes, held);
  const bool far_from_embedding = layout.map.rank_of(stage) != layout.map.rank_of(Stage(0));
  if (!here.mtp_layers.empty() && far_from_embedding) count.mtp += matrix;
  if (here.loss) {
    count.norms = sizes.hidden;
    count.head = matrix;
  }
  return count;
}

ParameterCount count_stage(const ModelSizes& sizes, const Layout& layout, Stage stage,
                           int expert_ranks) {
  ParameterCount count = count_bucket(sizes, layout, stage, -1, expert_ranks);
  for (const int layer : layout.stages.at(static_cast<std::size_t>(stage.value)).decoder_layers) {
    count += count_bucket(sizes, layout, stage, layer, expert_ranks);
  }
  return count;
}

ParameterCount count_rank(const ModelSizes& sizes, const Layout& layout, Rank rank,
                          int expert_ranks) {
  ParameterCount count;
  for (int chunk = 0; chunk < layout.map.chunks_per_rank; ++chunk) {
    count += count_stage(sizes, layout, layout.map.stage_of(rank, Chunk(chunk)), expert_ranks);
  }
  return count;
}

}  // namespace weft
