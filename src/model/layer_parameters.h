// The parameters of a decoder layer and of the model's two ends, with their names.
#pragma once

#include "model/model_shape.h"
#include "model/parameters.h"

namespace weft {

// Experts [first, first + count) are held here.
struct ExpertRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Linear weights are [out, in]. Null where the layer has no such part.
struct LayerParameters {
  Parameter* attention_norm = nullptr;  // [H]
  Parameter* qkv = nullptr;             // [(heads + 2 kv_heads) * head_size, H], q above k above v
  Parameter* attention_output = nullptr;  // [H, heads * head_size]
  Parameter* ffn_norm = nullptr;          // [H]
  Parameter* gate_up = nullptr;           // dense: [2 ffn, H], gate above up
  Parameter* down = nullptr;              // dense: [H, ffn]
  Parameter* router = nullptr;            // [E, H], computed with in the main type
  Parameter* expert_gate_up = nullptr;    // [count, 2 expert_ffn, H]
  Parameter* expert_down = nullptr;       // [count, H, expert_ffn]
  Parameter* shared_gate_up = nullptr;    // [2 shared_ffn, H]
  Parameter* shared_down = nullptr;       // [H, shared_ffn]
};

// Adds the layer's parameters to `store`; `kind` is not Noop.
LayerParameters create_layer(ParameterStore& store, const ModelShape& shape, int layer,
                             LayerKind kind, Stage stage, ExpertRange experts);

// model.embed_tokens.weight, [V, H].
Parameter& create_embedding(ParameterStore& store, const ModelShape& shape, Stage stage);

struct HeadParameters {
  Parameter* norm = nullptr;    // [H]
  Parameter* output = nullptr;  // [V, H]
};

// The head's matrix is a place of its own, with its own gradient. Where embeddings are tied it
// carries the embedding's name, and the gradients of the two places are to be summed.
HeadParameters create_head(ParameterStore& store, const ModelShape& shape, Stage stage);

}  // namespace weft
