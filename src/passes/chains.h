// The segments of one stage and micro-batch as tasks for weave, with the wires between them.
#pragma once

#include <vector>

#include "costs/costs.h"
#include "layout/layout.h"
#include "passes/weave.h"

namespace weft {

// Segments of the stage in the order of its forward, micro-batch 0. The heads come last, each
// though it may run as soon as its own layer's hidden state is there: the shorter the logits live.
std::vector<Segment> stage_segments(const Layout& layout, Stage stage);

// The buckets of gradients that a stage has, as the `layer` of a gradient wire, ascending: -1 for
// what it holds of embedding, final norm and head, then its layers with parameters, decoder and MTP
// layers; where the loss is, every MTP layer, for the layer's norm and its use of the head.
std::vector<int> gradient_buckets(const Layout& layout, Stage stage);

struct ChainRequest {
  Stage stage;
  MicroBatch micro_batch;
};

// Adds the forward chain: receive, segments with their wires, send.
void add_forward(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                 const ChainRequest& request);

// Adds the chain of input gradients; `with_wgrads`: each segment's weight gradients too. Weight
// gradients of one segment and several micro-batches stay in the order in which they were added.
void add_backward(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                  const ChainRequest& request, bool with_wgrads);

// Adds the weight gradients alone, whose input gradients ran in an earlier cell.
void add_wgrads(WeaveProblem& problem, const Layout& layout, const Costs& costs,
                const ChainRequest& request);

}  // namespace weft
