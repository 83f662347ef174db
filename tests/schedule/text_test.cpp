#include "schedule/text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace weft {
namespace {

constexpr ActionKind kActionKinds[] = {
    ActionKind::Forward,      ActionKind::Backward,     ActionKind::Dgrad,
    ActionKind::Wgrad,        ActionKind::SendForward,  ActionKind::RecvForward,
    ActionKind::SendBackward, ActionKind::RecvBackward, ActionKind::ReduceGrad};

TEST(Text, Actions) {
  EXPECT_EQ(print(Action{ActionKind::Forward, Stage(0), MicroBatch(3)}), "0F3");
  EXPECT_EQ(print(Action{ActionKind::Dgrad, Stage(7), MicroBatch(0)}), "7I0");
  EXPECT_EQ(print(Action{ActionKind::SendForward, Stage(0), MicroBatch(3)}), "0SEND_F3");
  EXPECT_EQ(print(Action{ActionKind::RecvBackward, Stage(12), MicroBatch(30)}), "12RECV_B30");
  EXPECT_EQ(print(Action{ActionKind::ReduceGrad, Stage(3), MicroBatch(0)}), "3REDUCE_GRAD");
  for (const ActionKind kind : kActionKinds) {
    const int micro_batch = kind == ActionKind::ReduceGrad ? 0 : 105;
    const Action action{kind, Stage(14), MicroBatch(micro_batch)};
    EXPECT_EQ(parse_action(print(action)), action) << print(action);
  }
}

// The actions of PyTorch's own round-trip test that Weft has.
TEST(Text, PyTorchsActionsRoundTrip) {
  for (const char* text : {"1F0", "2I1", "0W3", "0B3", "2SEND_B2", "1RECV_F1"}) {
    EXPECT_EQ(print(parse_action(text)), text);
  }
}

TEST(Text, Pairs) {
  const Cell pair = ActionPair{{ActionKind::Forward, Stage(0), MicroBatch(4)},
                               {ActionKind::Backward, Stage(7), MicroBatch(1)}};
  EXPECT_EQ(print(pair), "(0F4;7B1)OVERLAP_F_B");
  EXPECT_EQ(parse_cell("(0F4;7B1)OVERLAP_F_B"), pair);
  EXPECT_EQ(parse_cell("  ( 0F4 ; 7B1 )OVERLAP_F_B "), pair);
}

TEST(Text, Steps) {
  const Stage stage(0);
  const MicroBatch m(3);
  const struct {
    Step step;
    const char* text;
  } cases[] = {
      {RunForward{{SegmentKind::Attention, stage, 2, m}}, "0F3:attention.2"},
      {RunDgrad{{SegmentKind::Attention, stage, 2, m}}, "0I3:attention.2"},
      {RunWgrad{{SegmentKind::Experts, stage, 2, m}}, "0W3:experts.2"},
      {RunForward{{SegmentKind::Mlp, stage, 0, m}}, "0F3:mlp.0"},
      {RunDgrad{{SegmentKind::SharedExpert, stage, 12, m}}, "0I3:shared_expert.12"},
      {RunForward{{SegmentKind::Merge, stage, 2, m}}, "0F3:merge.2"},
      {RunForward{{SegmentKind::Embedding, stage, -1, m}}, "0F3:embedding"},
      {RunWgrad{{SegmentKind::Head, stage, -1, m}}, "0W3:head"},
      {RunDgrad{{SegmentKind::Identity, stage, -1, m}}, "0I3:identity"},
      {StartWire{{WireKind::Counts, stage, 2, m}}, "start(0F3:counts.2)"},
      {StartWire{{WireKind::Dispatch, stage, 2, m}}, "start(0F3:dispatch.2)"},
      {WaitWire{{WireKind::Dispatch, stage, 2, m}}, "wait(0F3:dispatch.2)"},
      {Release{{WireKind::Combine, stage, 2, m}}, "release(0F3:combine.2)"},
      {StartWire{{WireKind::CombineBackward, stage, 2, m}}, "start(0B3:combine_backward.2)"},
      {WaitWire{{WireKind::DispatchBackward, stage, 2, m}}, "wait(0B3:dispatch_backward.2)"},
      {StartWire{{WireKind::SendForward, stage, -1, m}}, "start(0SEND_F3)"},
      {WaitWire{{WireKind::RecvForward, Stage(1), -1, m}}, "wait(1RECV_F3)"},
      {Release{{WireKind::SendBackward, Stage(1), -1, m}}, "release(1SEND_B3)"},
      {StartWire{{WireKind::RecvBackward, stage, -1, m}}, "start(0RECV_B3)"},
      {StartWire{{WireKind::ReduceGrad, stage, -1, MicroBatch(0)}}, "start(0REDUCE_GRAD)"},
      {WaitWire{{WireKind::ReduceGrad, stage, 12, MicroBatch(0)}}, "wait(0REDUCE_GRAD.12)"},
      {StartWire{{WireKind::GatherGrad, stage, 2, MicroBatch(0)}}, "start(0GATHER_GRAD.2)"},
  };
  for (const auto& [step, text] : cases) {
    EXPECT_EQ(print(step), text);
    EXPECT_EQ(parse_step(text), step) << text;
  }
}

template <class Parse>
std::string message_of(Parse parse, const char* text) {
  try {
    parse(text);
  } catch (const UserError& error) {
    return error.violations().at(0).found + ": " + error.violations().at(0).message;
  }
  return "accepted";
}

TEST(Text, WhatIsNoCellSaysWhatWasExpected) {
  EXPECT_EQ(message_of(parse_cell, "0G3"),
            "`0G3`: expected <stage><op><micro-batch> with op one of F B I W SEND_F RECV_F SEND_B "
            "RECV_B, or <stage>REDUCE_GRAD");
  EXPECT_EQ(message_of(parse_cell, "(0F3;1F2)OVERLAP_F_B"),
            "`(0F3;1F2)OVERLAP_F_B`: expected a pair like (7F4;0B0)OVERLAP_F_B, one forward and "
            "one backward");
}

TEST(Text, Refused) {
  for (const char* text :
       {"", "F3", "0F", "0F3x", "0 F3", "-1F0", "+1F0", "0F-1", "0F99999999999", "3REDUCE_GRAD0",
        "1UNSHARD", "(0F4;7B1)", "(0F4,7B1)OVERLAP_F_B", "(0F4;7I1)OVERLAP_F_B", "(;)OVERLAP_F_B",
        ")0F4;7B1(OVERLAP_F_B", "0f3"}) {
    EXPECT_THROW(parse_cell(text), UserError) << text;
  }
  for (const char* text :
       {"", "0F3", "0F3:", "0F3:attention", "0F3:attention.", "0F3:attention.x", "0F3:head.2",
        "0B3:attention.2", "0F3:router.2", "start(0F3:attention.2)", "start(0F3:dispatch)",
        "start(0B3:dispatch.2)", "start(0F3:combine_backward.2)", "start(0F3:send_forward.2)",
        "start(0F3)", "wait(0SEND_F3", "stop(0SEND_F3)", "start()"}) {
    EXPECT_THROW(parse_step(text), UserError) << text;
  }
}

}  // namespace
}  // namespace weft
