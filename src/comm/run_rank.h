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
// current action; ranks of the launcher leave SIGINT to the launcher. After an error the process
// ends within seconds, whatever its store, its launcher or its standard error do.
void run_rank(const Rendezvous& place, const std::function<CommunicatorPtr()>& connect,
              const std::function<void(Communicator&)>& body);

// For ranks that are threads: SIGTERM ends the process as it does a rank that is one.
void say_when_terminated();

}  // namespace weft
