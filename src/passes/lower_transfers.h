// Compute level to transfers level.
#pragma once

#include "schedule/schedule.h"

namespace weft {

// Adds sends, receives and, with `reduce_gradients`, gradient reductions. A cell of a transfer
// stands where the transfer starts; starting never blocks, so no place can make a rank wait.
//   send     right behind the cell that computes what is sent
//   receive  ahead of the whole cell before the one that needs it, so that the message can travel
//            under that cell; not earlier, since a receive holds its buffer from its start. Earlier
//            only where between two ranks a message that is sent later is needed sooner: messages
//            from one rank to another are received in the order in which they are sent.
//   reduce   at the end, in the order of stages: all micro-batches' W's are done; with
//            `overlap_grad_reduce` behind the cell with the stage's last W and what it sends
// Nothing is sent where both stages are on one rank. Precondition: compute level, verify_order
// found nothing. First of the lowering passes, because every later one needs to know what leaves a
// rank.
Schedule lower_transfers(const Schedule& compute, bool reduce_gradients,
                         bool overlap_grad_reduce = false);

// Adds the reduction of every stage to a plan of the transfers level that has none.
void add_reductions(Schedule& schedule, bool overlap_grad_reduce);

}  // namespace weft
