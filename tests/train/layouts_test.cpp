// Neither the cut into stages nor what runs under what changes a bit: layouts with unequal numbers
// of MoE layers, stages without decoder layers, noop layers, sizes of the ends; two forwards or two
// backwards woven outside the steady phase; gradients summed under later backwards. All print the
// digests of plain 1F1B, or of one rank.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/tiny_run.h"

namespace weft {
namespace {

constexpr int kLayers = 6;
constexpr int kMicroBatches = 5;

struct Way {
  std::string method;
  int pp = 2;
  std::string layout = {};
  bool overlap = false;
  bool outside_steady = false;
  bool grad_reduce = false;
  bool detach = false;
  std::string noop_layers = "3";
};

std::string name_of(const Way& way) {
  std::string name = way.method + " P=" + std::to_string(way.pp) + " " + way.layout;
  if (way.overlap) name += " overlap";
  if (way.outside_steady) name += " outside-steady";
  if (way.grad_reduce) name += " grad-reduce";
  return way.detach ? name + " detach" : name;
}

Config config_of(const Way& way, int dp, const std::string& token_file) {
  Config config = tiny_config(kLayers);
  config.train.train_iters = 2;
  config.train.token_file = token_file;
  config.model.noop_layers = way.noop_layers;
  config.schedule.num_microbatches = kMicroBatches;
  config.schedule.schedules_method = way.method;
  config.schedule.moe_fb_overlap = way.overlap;
  config.schedule.overlap_outside_steady = way.outside_steady;
  config.schedule.overlap_grad_reduce = way.grad_reduce;
  config.schedule.dualpipev_dw_detach = way.detach;
  config.schedule.pipeline_model_parallel_layout = way.layout;
  config.parallel.pipeline_model_parallel_size = way.pp;
  config.parallel.expert_model_parallel_size = 2;
  config.parallel.data_parallel_size = dp;
  return config;
}

std::string run(const Config& config, int dp, std::uint64_t seed) {
  const LocalOptions options{.max_delay = std::chrono::microseconds(200), .delay_seed = seed};
  const int ranks = config.parallel.pipeline_model_parallel_size * dp;
  return fingerprint(run_threads(config, ranks, options).steps);
}

// The first is what the others have to equal.
void expect_same_bits(const std::vector<Way>& ways, int dp) {
  const TinyTokens tokens(kMicroBatches * dp * 2, 8, 32, /*seed=*/5);
  std::string expected;
  std::uint64_t seed = 0;
  for (const Way& way : ways) {
    const std::string found = run(config_of(way, dp, tokens.path()), dp, ++seed);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << name_of(way) << ", delay seed " << seed;
  }
}

TEST(Layouts, UnevenAndEmptyStages) {
  expect_same_bits(
      {
          {.method = "1f1b"},
          {.method = "interleaved", .layout = "Ett|ttt|t|L"},
          {.method = "interleaved", .layout = "Ett|ttt|t|L", .overlap = true},
          {.method = "dualpipev", .layout = "Ett|ttt|t|L", .overlap = true, .detach = true},
          {.method = "dualpipev", .layout = "E||tttttt|L", .overlap = true},
          {.method = "interleaved", .pp = 4, .layout = "E|t|t|ttt|||t|L", .overlap = true},
          {.method = "1f1b", .pp = 4, .layout = "E|ttttt|t|L"},
          {.method = "zb-h1", .pp = 2, .layout = "E|ttttttL"},
      },
      /*dp=*/2);
}

TEST(Layouts, FlagsOfStageSizes) {
  const TinyTokens tokens(kMicroBatches * 2 * 2, 8, 32, /*seed=*/5);
  const auto found = [&](const Way& way, const auto& change) {
    Config config = config_of(way, 2, tokens.path());
    change(config.schedule);
    return run(config, 2, 1);
  };
  const std::string expected = found({.method = "1f1b"}, [](ScheduleConfig&) {});
  EXPECT_EQ(found({.method = "1f1b", .pp = 4},
                  [](ScheduleConfig& schedule) {
                    schedule.decoder_first_pipeline_num_layers = 0;
                    schedule.decoder_last_pipeline_num_layers = 3;
                  }),
            expected);
  EXPECT_EQ(
      found({.method = "interleaved", .overlap = true},
            [](ScheduleConfig& schedule) { schedule.num_layers_per_virtual_pipeline_stage = 1; }),
      expected);
  // Six layers make two rounds of stages of two, which then hold fewer.
  EXPECT_EQ(
      found({.method = "interleaved"},
            [](ScheduleConfig& schedule) { schedule.num_layers_per_virtual_pipeline_stage = 2; }),
      expected);
}

TEST(Layouts, NoopLayersAnywhere) {
  expect_same_bits(
      {
          {.method = "1f1b", .noop_layers = "0,2,5"},
          {.method = "dualpipev", .overlap = true, .noop_layers = "0,2,5"},
          {.method = "interleaved",
           .layout = "Et|ttt|t|tL",
           .overlap = true,
           .outside_steady = true,
           .noop_layers = "0,2,5"},
      },
      /*dp=*/2);
}

TEST(Overlap, OutsideTheSteadyPhase) {
  expect_same_bits(
      {
          {.method = "1f1b"},
          {.method = "dualpipev", .overlap = true, .outside_steady = true},
          {.method = "dualpipev", .pp = 4, .overlap = true, .outside_steady = true},
          {.method = "dualpipev",
           .pp = 4,
           .overlap = true,
           .outside_steady = true,
           .grad_reduce = true,
           .detach = true},
          {.method = "interleaved",
           .layout = "Ett|ttt|t|L",
           .overlap = true,
           .outside_steady = true,
           .grad_reduce = true},
          {.method = "interleaved",
           .pp = 4,
           .layout = "Et|t|t|t|t|t||L",
           .overlap = true,
           .outside_steady = true},
      },
      /*dp=*/2);
}

TEST(Overlap, ReductionOfGradients) {
  expect_same_bits(
      {
          {.method = "1f1b"},
          {.method = "1f1b", .grad_reduce = true},
          {.method = "interleaved", .layout = "Ett|ttt|t|L", .grad_reduce = true},
          {.method = "dualpipev", .overlap = true, .grad_reduce = true, .detach = true},
          {.method = "zb-h1", .grad_reduce = true},
      },
      /*dp=*/2);
}

// Two ranks hold the same experts, four the rest.
TEST(Overlap, ReductionOfExpertsToo) {
  expect_same_bits(
      {
          {.method = "no-pipeline", .pp = 1},
          {.method = "no-pipeline", .pp = 1, .overlap = true, .grad_reduce = true},
          {.method = "dualpipev", .overlap = true, .grad_reduce = true},
      },
      /*dp=*/4);
}

}  // namespace
}  // namespace weft
