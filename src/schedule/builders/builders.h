// One builder per schedule, each in the source named after it. All give the compute level and trust
// their arguments: the registry checks them.
#pragma once

#include "schedule/registry.h"

namespace weft {

// All forwards, then all backwards, both in rising order of micro-batches (Huang et al., arXiv
// 1811.06965, section 2.3).
Schedule build_gpipe(const BuildRequest& request);

// Warm-up of P - 1 - r forwards, then one forward and one backward in turn.
Schedule build_one_f_one_b(const BuildRequest& request);

// Interleaved 1F1B (Narayanan et al., arXiv 2104.04473, section 2.2): groups of `group_size`
// micro-batches go through a rank's chunks in turn. With `overlap` one more warm-up micro-batch, so
// that the forward and the backward of a steady step do not depend on each other and make a pair.
Schedule build_interleaved(const BuildRequest& request);

// ZB-H1 (Qi et al., arXiv 2401.10241, section 2.1): 1F1B with I in place of B; the oldest W runs
// whenever more than r are pending on rank r. Bubble (P-1)(F+I-W) if W <= F, I and M >= P.
Schedule build_zb_h1(const BuildRequest& request);

// ZB-H2 (the same, section 2.2): 2(P-1-r)+1 forwards before the first I, at most 2r pending W's.
// Every rank is idle for (P-1)(F+I-2W) between its first and last cell if W <= F, I and M >= 2P-1.
Schedule build_zb_h2(const BuildRequest& request);

// ZB-V (the same, section 6): a V; with F = I = W no rank idles between its first and last cell if
// M >= 2P-1, and holds at most 2P chunks' activations.
Schedule build_zb_v(const BuildRequest& request);

// DualPipeV: DeepSeek's DualPipe cut in half, over a V. Its eight phases stand in the source.
Schedule build_dualpipev(const BuildRequest& request);

// One rank: forward and backward of each micro-batch in turn; with `overlap` the forward of
// micro-batch i + 1 is woven with the backward of i.
Schedule build_no_pipeline(const BuildRequest& request);

}  // namespace weft
