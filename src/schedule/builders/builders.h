// One builder per schedule, each in the source named after it. All give the compute level and trust
// their arguments: the registry checks them.
#pragma once

#include "schedule/registry.h"

namespace weft {

// Warm-up of P - 1 - r forwards, then one forward and one backward in turn.
Schedule build_one_f_one_b(const BuildRequest& request);

// Interleaved 1F1B (Narayanan et al., arXiv 2104.04473, section 2.2): groups of `group_size`
// micro-batches go through a rank's chunks in turn. With `overlap` one more warm-up micro-batch, so
// that the forward and the backward of a steady step do not depend on each other and make a pair.
Schedule build_interleaved(const BuildRequest& request);

// DualPipeV: DeepSeek's DualPipe cut in half, over a V. Its eight phases stand in the source.
Schedule build_dualpipev(const BuildRequest& request);

// One rank: forward and backward of each micro-batch in turn; with `overlap` the forward of
// micro-batch i + 1 is woven with the backward of i.
Schedule build_no_pipeline(const BuildRequest& request);

}  // namespace weft
