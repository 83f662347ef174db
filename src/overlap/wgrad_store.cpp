#include "overlap/wgrad_store.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "base/error.h"

namespace weft {

void WgradStore::push(const Segment& segment, Wgrad wgrad) {
  pending_[segment].push_back(std::move(wgrad));
}

void WgradStore::run(const Segment& segment) {
  const at::NoGradGuard no_grad;
  const auto found = pending_.find(segment);
  weft_assert(found != pending_.end(), "a segment's W's are pending when they are to run");
  std::deque<Wgrad> wgrads = std::move(found->second);
  pending_.erase(found);
  for (; !wgrads.empty(); wgrads.pop_front()) wgrads.front()();
}

}  // namespace weft
