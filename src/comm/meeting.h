// Where ranks find out, before anything else, whether they are those of one run. Internal to comm/.
#pragma once

#include <chrono>
#include <vector>

#include "base/error.h"
#include "comm/fault_board.h"
#include "comm/rendezvous.h"
#include "comm/shared_setting.h"
#include "comm/timed_store.h"

namespace weft {

// Throws UserError if another process has come as the same rank. To be called before a fault of
// this process could end the others.
void claim_rank(const Rendezvous& place, TimedStore& store);

// How `mine`, of `rank`, differ from `first`, of rank 0: those that the user gave; if there are
// none, all.
std::vector<Violation> differences(const std::vector<SharedSetting>& first,
                                   const std::vector<SharedSetting>& mine, int rank);

// Returns when all ranks are there and have the same settings as rank 0. Throws the same UserError
// on all of them if one has not, RuntimeFault naming those that have not come within `deadline`.
void meet(const Rendezvous& place, TimedStore& store, FaultBoard& board,
          std::chrono::milliseconds deadline, const std::vector<SharedSetting>& settings);

}  // namespace weft
