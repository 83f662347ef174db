// The bound of overlap: a communicator whose all-to-alls cost no wire time.
#pragma once

#include "comm/communicator.h"

namespace weft {

// As `inner`, but the exchanges of groups named `ep` and `counts` are local copies of equal size:
// every rank gets back the rows that it sent, so no member waits for another there. What is trained
// is not the model that was asked for; only the time of a step means something.
CommunicatorPtr make_bound_communicator(CommunicatorPtr inner);

}  // namespace weft
