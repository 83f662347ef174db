#include "estimate/parameter_count.h"

#include <algorithm>

#include "passes/chains.h"

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

// Two norms of what it joins, their projection, and a decoder layer.
ParameterCount count_mtp_body(const ModelSizes& sizes, LayerKind kind, std::int64_t held_experts) {
  const ParameterCount layer = count_layer(sizes, kind, held_experts);
  ParameterCount count;
  count.mtp = layer.replicated() + 2 * sizes.hidden + 2 * sizes.hidden * sizes.hidden;
  count.mtp_experts = layer.experts;
  return count;
}

std::int64_t embedding_size(const ModelSizes& sizes) { return sizes.vocabulary * sizes.hidden; }

// Whether an MTP layer of the stage finds the embedding's matrix on its rank.
bool finds_embedding(const Layout& layout, bool tied, Stage stage, int mtp_layer) {
  const Rank rank = layout.map.rank_of(stage);
  if (layout.map.rank_of(Stage(0)) == rank) return true;
  if (tied && layout.map.rank_of(Stage(layout.map.num_stages() - 1)) == rank) return true;
  for (int s = 0; s <= stage.value; ++s) {
    if (layout.map.rank_of(Stage(s)) != rank) continue;
    const std::vector<int>& layers = layout.stages.at(static_cast<std::size_t>(s)).mtp_layers;
    if (!layers.empty() && layers.front() < mtp_layer) return true;
  }
  return false;
}

ParameterCount count_mtp_bucket(const ModelSizes& sizes, const Layout& layout, Stage stage,
                                int layer, std::int64_t held_experts) {
  const StageLayers& here = layout.stages.at(static_cast<std::size_t>(stage.value));
  const int mtp_layer = layer - number_of_mtp_layer(layout, 0);
  ParameterCount count;
  if (std::ranges::find(here.mtp_layers, mtp_layer) != here.mtp_layers.end()) {
    count = count_mtp_body(sizes, kind_of_layer(layout, layer), held_experts);
    const bool shares = finds_embedding(layout, sizes.tied, stage, mtp_layer);
    (shares ? count.shared_gradients : count.mtp) += embedding_size(sizes);
  }
  if (here.loss) {
    count.mtp += sizes.hidden;
    count.shared_gradients += embedding_size(sizes);
  }
  return count;
}

ParameterCount count_with(const ModelSizes& sizes, const Layout& layout, std::int64_t experts) {
  ParameterCount count;
  count.embedding = embedding_size(sizes);
  if (!sizes.tied) count.head = embedding_size(sizes);
  count.norms = sizes.hidden;
  for (const LayerKind kind : layout.layer_kinds) count += count_layer(sizes, kind, experts);
  for (int k = 0; k < num_mtp_layers(layout); ++k) {
    const LayerKind kind = kind_of_layer(layout, number_of_mtp_layer(layout, k));
    count += count_mtp_body(sizes, kind, experts);
    count.mtp += sizes.hidden;  // the norm ahead of the head
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
  shared_gradients += other.shared_gradients;
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
  if (layer >= number_of_mtp_layer(layout, 0)) {
    return count_mtp_bucket(sizes, layout, stage, layer, held);
  }
  if (layer >= 0) return count_layer(sizes, kind_of_layer(layout, layer), held);
  ParameterCount count;
  if (here.embedding) count.embedding = embedding_size(sizes);
  if (here.loss) {
    count.norms = sizes.hidden;
    count.head = embedding_size(sizes);
  }
  return count;
}

ParameterCount count_stage(const ModelSizes& sizes, const Layout& layout, Stage stage,
                           int expert_ranks) {
  ParameterCount count;
  for (const int layer : gradient_buckets(layout, stage)) {
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

int embedding_places(const Layout& layout, bool tied, Rank rank) {
  int places = 0;
  for (int chunk = 0; chunk < layout.map.chunks_per_rank; ++chunk) {
    const Stage stage = layout.map.stage_of(rank, Chunk(chunk));
    const StageLayers& here = layout.stages.at(static_cast<std::size_t>(stage.value));
    places += static_cast<int>(here.embedding) + static_cast<int>(here.mtp_layers.size());
    if (tied && here.loss) places += 1 + num_mtp_layers(layout);
  }
  return places;
}

std::vector<int> embedding_ranks(const Layout& layout, bool tied) {
  std::vector<int> ranks;
  for (int r = 0; r < layout.map.num_ranks; ++r) {
    if (embedding_places(layout, tied, Rank(r)) > 0) ranks.push_back(r);
  }
  return ranks;
}

}  // namespace weft
