// No schedule changes a bit: runs that share model, data, M, expert and data parallel size print
// the same loss and digests, with ranks as threads and random delays on every wire. Five layers lie
// unevenly on every cut: over 2, 4 and 8 stages, some of them empty.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/tiny_run.h"

namespace weft {
namespace {

struct Way {
  std::string method;
  bool overlap = false;
  bool detach = false;
  int pp = 1;
  int chunks = 1;
};

std::string name_of(const Way& way) {
  std::string name = way.method + " P=" + std::to_string(way.pp);
  if (way.overlap) name += " overlap";
  if (way.detach) name += " detach";
  return name;
}

std::vector<Way> all_ways() {
  std::vector<Way> ways = {{"no-pipeline"}, {"no-pipeline", true}, {"dualpipev", true, true}};
  for (int pp : {2, 4}) {
    ways.push_back({"1f1b", false, false, pp});
    ways.push_back({"interleaved", false, false, pp, 2});
    ways.push_back({"interleaved", true, false, pp, 2});
    for (bool overlap : {false, true}) {
      for (bool detach : {false, true}) ways.push_back({"dualpipev", overlap, detach, pp, 2});
    }
  }
  return ways;
}

struct Point {
  int micro_batches;
  int ep;
};

class BitIdentity : public testing::TestWithParam<Point> {};

Config config_of(const Way& way, const Point& point, const std::string& token_file) {
  Config config = tiny_config(5);
  config.train.token_file = token_file;
  config.schedule.num_microbatches = point.micro_batches;
  config.schedule.schedules_method = way.method;
  config.schedule.moe_fb_overlap = way.overlap;
  config.schedule.dualpipev_dw_detach = way.detach;
  config.parallel.pipeline_model_parallel_size = way.pp;
  config.parallel.expert_model_parallel_size = point.ep;
  if (way.method == "interleaved") {
    config.schedule.num_virtual_stages_per_pipeline_rank = way.chunks;
  }
  return config;
}

TEST_P(BitIdentity, EveryScheduleGivesTheSameBits) {
  const Point point = GetParam();
  const TinyTokens tokens(8 * 2 * 3, 8, 32, /*seed=*/3);
  std::string expected;
  std::uint64_t seed = 0;
  for (const Way& way : all_ways()) {
    const Config config = config_of(way, point, tokens.path());
    const LocalOptions options{.max_delay = std::chrono::microseconds(200), .delay_seed = ++seed};
    const std::string found = fingerprint(run_threads(config, way.pp * point.ep, options).steps);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << name_of(way) << ", delay seed " << seed;
  }
}

std::string name_of_point(const testing::TestParamInfo<Point>& info) {
  return "M" + std::to_string(info.param.micro_batches) + "Ep" + std::to_string(info.param.ep);
}

INSTANTIATE_TEST_SUITE_P(Matrix, BitIdentity,
                         testing::Values(Point{1, 1}, Point{2, 1}, Point{3, 1}, Point{5, 1},
                                         Point{8, 1}, Point{1, 2}, Point{2, 2}, Point{3, 2},
                                         Point{5, 2}, Point{8, 2}),
                         name_of_point);

}  // namespace
}  // namespace weft
