#include "costs/costs_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The message of the UserError that parsing `text` ends in.
std::string refusal(const std::string& text) {
  try {
    parse_costs(text, "costs.toml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CostsToml, ReadsEveryTable) {
  const Costs costs = parse_costs(R"(
unit = "ms"                     # a comment
p2p = 1
pair = 3.5
stage = { forward = 2, dgrad = 2.5 }
[stages]
7 = { wgrad = 9 }
[segments.moe_attention]
forward = 4.1
dgrad = 4.3
wgrad = 2.2
[wires]
combine_backward = 0.25
send_forward = 1e-3
)",
                                  "costs.toml");
  EXPECT_EQ(costs.unit, "ms");
  EXPECT_EQ(costs.p2p, 1);
  EXPECT_EQ(costs.pair, 3.5);
  EXPECT_EQ(costs.stage, (StageCost{2, 2.5, 1}));
  EXPECT_EQ(costs.stages, (std::map<int, StageCost>{{7, {2, 2.5, 9}}}));
  EXPECT_EQ(costs.segments,
            (std::map<SegmentKey, SegmentCost>{{{SegmentKind::Attention, true}, {4.1, 4.3, 2.2}}}));
  EXPECT_EQ(costs.wires, (std::map<WireKind, double>{{WireKind::CombineBackward, 0.25},
                                                     {WireKind::SendForward, 1e-3}}));
}

TEST(CostsToml, PrintsOneLinePerEntry) {
  Costs costs;
  costs.pair = 2.5;
  costs.stages[3] = {1, 2, 3};
  costs.segments[{SegmentKind::Attention, true}] = {0.5, 1, 2};
  costs.wires[WireKind::Dispatch] = 0.1;
  EXPECT_EQ(print_costs(costs), R"(unit = "units"
p2p = 0
pair = 2.5
stage = { forward = 1, dgrad = 1, wgrad = 1 }

[stages]
3 = { forward = 1, dgrad = 2, wgrad = 3 }

[segments]
moe_attention = { forward = 0.5, dgrad = 1, wgrad = 2 }

[wires]
dispatch = 0.1
)");
}

// What is left out is 0, but a split backward needs as much room as a whole one.
TEST(CostsToml, ReadsBytes) {
  const Costs costs = parse_costs(R"(
[bytes]
stage = { activation = 4096, wgrad = 1024 }
[bytes.stages]
7 = { activation = 8192, forward = 1, backward = 2 }
8 = { backward = 2, dgrad = 0 }
[bytes.segments]
moe_attention = { activation = 512, dgrad = 3 }
)",
                                  "costs.toml");
  EXPECT_EQ(costs.bytes.stage, (KeptBytes{4096, 1024, 0, 0, 0}));
  EXPECT_EQ(costs.bytes.stages,
            (std::map<int, KeptBytes>{{7, {8192, 0, 1, 2, 2}}, {8, {0, 0, 0, 2, 0}}}));
  EXPECT_EQ(costs.bytes.segments, (std::map<SegmentKey, KeptBytes>{
                                      {{SegmentKind::Attention, true}, {512, 0, 0, 0, 3}}}));
  EXPECT_TRUE(parse_costs("p2p = 1\n", "costs.toml").bytes.empty());
}

TEST(CostsToml, PrintsBytes) {
  Costs costs;
  costs.bytes.stage = KeptBytes{};
  costs.bytes.stages[3] = {4096, 0, 1, 2, 2};
  costs.bytes.segments[{SegmentKind::Mlp, false}] = {7, 6, 0, 0, 5};
  const std::string text = print_costs(costs);
  EXPECT_THAT(text, ::testing::EndsWith(R"(
[bytes]
stage = {}

[bytes.stages]
3 = { activation = 4096, forward = 1, backward = 2 }

[bytes.segments]
mlp = { activation = 7, wgrad = 6, dgrad = 5 }
)"));
  EXPECT_EQ(parse_costs(text, "round trip"), costs);
}

TEST(CostsToml, BytesAreWholeAndHaveKnownNames) {
  EXPECT_THAT(refusal("[bytes]\nstage = { activation = 1.5, wgrads = 2 }\nlayers = 3\n"),
              AllOf(HasSubstr("bytes.stage.activation = 1.5"), HasSubstr("from 0 to 5e11"),
                    HasSubstr("bytes.stage.wgrads = 2"), HasSubstr("forward, backward, dgrad"),
                    HasSubstr("bytes.layers = 3"), HasSubstr("stage, stages, segments")));
  EXPECT_THAT(refusal("[bytes]\nstage = { activation = -1 }\n"), HasSubstr("from 0 to 5e11"));
  EXPECT_THAT(refusal("[bytes]\nstage = { wgrad = 600000000000 }\n"), HasSubstr("5e11"));
  EXPECT_THAT(refusal("[bytes.stages]\n-1 = {}\n"), HasSubstr("bytes.stages.-1"));
  EXPECT_THAT(refusal("bytes = 4096\n"), HasSubstr("must be a table"));
}

TEST(CostsToml, RoundTripKeepsEveryBit) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-12, 12);
  const auto value = [&] { return std::pow(10.0, exponent(random)); };
  for (int round = 0; round < 50; ++round) {
    Costs costs = default_costs();
    costs.unit = "ms \"quoted\"";
    costs.p2p = value();
    if (round % 2 == 0) costs.pair = value();
    costs.stage = {value(), value(), value()};
    for (int stage = 0; stage < round % 4; ++stage) costs.stages[stage] = {value(), value(), 0};
    for (auto& [key, cost] : costs.segments) cost = {value(), value(), value()};
    for (auto& [kind, cost] : costs.wires) cost = value();
    const auto count = [&](unsigned below) { return static_cast<std::int64_t>(random() % below); };
    const auto bytes = [&] {
      return KeptBytes{count(3), count(4'000'000'000U), count(2), count(2), count(2)};
    };
    if (round % 3 == 0) costs.bytes.stage = bytes();
    for (int stage = 0; stage < round % 4; ++stage) costs.bytes.stages[stage] = bytes();
    for (auto& [key, cost] : costs.segments) costs.bytes.segments[key] = bytes();
    EXPECT_EQ(parse_costs(print_costs(costs), "round trip"), costs);
  }
}

TEST(CostsToml, RefusalNamesFileLineKeyAndValue) {
  EXPECT_THAT(refusal("unit = \"ms\"\n[wires]\ndispatch = -2.0\n"),
              AllOf(HasSubstr("costs.toml:3"), HasSubstr("wires.dispatch = -2.0"),
                    HasSubstr("from 0 to 1e15")));
  EXPECT_THAT(refusal("[wires]\ndispatch = \"fast\"\n"), HasSubstr("wires.dispatch = "));
  EXPECT_THAT(refusal("p2p = nan\n"), HasSubstr("p2p = nan"));
  EXPECT_THAT(refusal("p2p = 1e308\n"), HasSubstr("from 0 to 1e15"));
  EXPECT_THAT(refusal("[stages]\nfirst = { forward = 1 }\n"), HasSubstr("stages.first"));
  EXPECT_THAT(refusal("[wires\n"), AllOf(HasSubstr("costs.toml:1"), HasSubstr("not TOML")));
  EXPECT_THAT(refusal("wires = 3\n"), HasSubstr("must be a table"));
}

TEST(CostsToml, UnknownNamesListTheKnownOnesAndAllAreReported) {
  EXPECT_THAT(refusal("[segments.atention]\nforward = 1\n[wires]\ndispach = 1\n"),
              AllOf(HasSubstr("segments.atention"), HasSubstr("moe_attention"),
                    HasSubstr("wires.dispach"), HasSubstr("combine_backward")));
  EXPECT_THAT(refusal("stage = { forwards = 1 }\n"),
              AllOf(HasSubstr("stage.forwards = 1"), HasSubstr("forward, dgrad, wgrad")));
}

constexpr auto kDevice = R"([device]
tflops = 600
memory_gb_per_s = 2500
overhead_us = 20
)";
constexpr auto kLinks = R"([links]
expert = { gb_per_s = 40, latency_us = 20 }
pipeline = { gb_per_s = 50, latency_us = 10 }
data = { gb_per_s = 45, latency_us = 0 }
)";

TEST(CostsToml, ReadsADeviceAndItsLinks) {
  const Costs costs = parse_costs(std::string(kDevice) + kLinks, "costs.toml");
  EXPECT_EQ(costs.unit, "ms");
  EXPECT_EQ(costs.rates, (Rates{600, 2500, 20, {40, 20}, {50, 10}, {45, 0}}));
  EXPECT_EQ(parse_costs(print_costs(costs), "round trip"), costs);
  EXPECT_FALSE(parse_costs("p2p = 1\n", "costs.toml").rates.has_value());
}

TEST(CostsToml, RatesAreWholeAndInMs) {
  EXPECT_THAT(refusal(kDevice), AllOf(HasSubstr("[device] alone"), HasSubstr("[links]")));
  EXPECT_THAT(refusal(kLinks), AllOf(HasSubstr("[links] alone"), HasSubstr("[segments]")));
  EXPECT_EQ(refusal(std::string(kLinks) + "[segments.experts]\nforward = 1\n"), "accepted");
  EXPECT_EQ(refusal(std::string(kDevice) + "[wires]\ndispatch = 1\n"), "accepted");
  EXPECT_THAT(refusal("unit = \"s\"\n" + std::string(kDevice) + kLinks),
              AllOf(HasSubstr("unit = s"), HasSubstr("in ms")));
  EXPECT_THAT(refusal("[device]\ntflops = 0\n" + std::string(kLinks)),
              AllOf(HasSubstr("costs.toml:1: device.tflops = 0"), HasSubstr("at least 1e-6"),
                    HasSubstr("device.overhead_us is missing")));
  EXPECT_THAT(refusal(std::string(kDevice) + "[links]\nexpert = { gb_per_s = 1 }\nnode = 3\n"),
              AllOf(HasSubstr("links.expert.latency_us is missing"), HasSubstr("links.node"),
                    HasSubstr("expert, pipeline, data"), HasSubstr("links.data is missing")));
}

TEST(CostsToml, MissingFileIsTheUsersError) {
  EXPECT_THROW(read_costs("/nowhere/costs.toml"), UserError);
}

}  // namespace
}  // namespace weft
