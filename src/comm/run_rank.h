// This process as one rank among processes.
#pragma once

#include <functional>

#include "comm/communicator.h"
#include "comm/rendezvous.h"

namespace weft {

// Connects and runs `body`. If either throws, the other ranks are aborted with that error; then
//   - a rank of the launcher reports it there and ends the process, without a word of its own, with
//     the exit code of the error (2, 3 or 1);
//   - any other rank prints one line with its rank and current action and ends the process with 1,
//     except that UserError and PlanError are thrown on.
// The process ends at once because threads of the transport may be waiting for a peer for ever.
//
// While it runs, SIGTERM ends a rank with exit code 1 and one line (or report) that says its
// current action; ranks of the launcher leave SIGINT to the launcher.
void run_rank(const Rendezvous& place, const std::function<CommunicatorPtr()>& connect,
              const std::function<void(Communicator&)>& body);

}  // namespace weft
