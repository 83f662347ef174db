// Text form of cells and steps, after PyTorch's pipelining CSV: parse(print(x)) == x.
//
//   action   0F3 7B0 7I0 7W0 0SEND_F3 1RECV_F3 1SEND_B3 0RECV_B3 3REDUCE_GRAD
//   pair     (0F4;7B1)OVERLAP_F_B
//   compute  0F3:attention.2  0I3:attention.2  0W3:experts.2; no layer: 0F3:embedding 0I3:head
//   wire     0F3:dispatch.2  0F3:counts.2  0B3:combine_backward.2  0SEND_F3  0REDUCE_GRAD
//   step     a compute step as it is; start(WIRE), wait(WIRE), release(WIRE)
#pragma once

#include <string>
#include <string_view>

#include "schedule/action.h"
#include "schedule/step.h"

namespace weft {

std::string print(const Action& action);
std::string print(const ActionPair& pair);
std::string print(const Cell& cell);
std::string print(const Wire& wire);
std::string print(const Step& step);

// `attention`, `shared_expert`; `dispatch`, `combine_backward`, `send_forward`.
std::string_view segment_name(SegmentKind kind);
std::string_view wire_name(WireKind kind);

// Spaces around the text are skipped, inside it they are not. Throws UserError, rule
// "schedule-text", with the text found and what was expected.
Action parse_action(std::string_view text);
Cell parse_cell(std::string_view text);
Wire parse_wire(std::string_view text);
Step parse_step(std::string_view text);

}  // namespace weft
