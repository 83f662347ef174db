// The weight-gradient store: W's that a backward has put off until the plan runs them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>

#include "schedule/step.h"

namespace weft {

// Gradients of all parameters pass through here, norms and embeddings too, so that a weight's terms
// are added in the order of the micro-batches under every schedule.
class WgradStore {
 public:
  // One W: adds to its parameter's main gradient and frees what it kept.
  using Wgrad = std::function<void()>;

  void push(const Segment& segment, Wgrad wgrad);
  // Runs the segment's W's in the order in which they were put in, and forgets them.
  void run(const Segment& segment);
  bool empty() const { return pending_.empty(); }
  std::size_t num_pending_segments() const { return pending_.size(); }
  // The first pending segment, for the message of who refuses to step.
  const Segment& first_pending() const { return pending_.begin()->first; }

 private:
  std::map<Segment, std::deque<Wgrad>> pending_;
};

}  // namespace weft
