// No schedule changes a bit: runs that share model, data, M, expert and data parallel size print
// the same loss and digests, with ranks as threads and random delays on every wire. Five layers lie
// unevenly on every cut: over 2, 4 and 8 stages, some of them empty.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "passes/lower_transfers.h"
#include "schedule/csv.h"
#include "schedule/registry.h"
#include "support/tiny_run.h"

namespace weft {
namespace {

struct Way {
  std::string method;
  bool overlap = false;
  bool detach = false;
  int pp = 1;
  int chunks = 1;
  std::string csv = {};  // the schedule, read from a file; `method` is its name here
};

std::string name_of(const Way& way) {
  std::string name = way.method + " P=" + std::to_string(way.pp);
  if (way.overlap) name += " overlap";
  if (way.detach) name += " detach";
  return name;
}

// Micro-batches out of order, I's that fall where their W's rise, split and whole backwards of one
// stage, and a pair.
constexpr auto kByHand =
    "0F1,0F0,0F2,2F1,2F0,2I1,2I0,2W0,2W1,(2F2;0B0)OVERLAP_F_B,0I1,0W1,2B2,0B2\n"
    "1F1,1F0,1F2,3F1,3I1,3F0,3B0,3W1,1I1,1B0,1W1,3F2,3B2,1I2,1W2\n";

// Schedules in files: a printed one at both levels, with reductions, one made by hand, and
// PyTorch's ZB-1P as it is published, at both levels.
std::vector<Way> ways_from_files(int micro_batches) {
  const Schedule printed = build_schedule(
      "dualpipev", {.num_ranks = 2, .num_micro_batches = micro_batches, .detach = true});
  std::vector<Way> ways;
  for (bool overlap : {false, true}) {
    ways.push_back({"printed", overlap, false, 2, 2, print_csv(printed)});
    ways.push_back({"lowered", overlap, false, 2, 2, print_csv(lower_transfers(printed, true))});
    if (micro_batches == 3) ways.push_back({"by-hand", overlap, false, 2, 2, kByHand});
  }
  for (const std::string level : {"compute", "comms"}) {
    if (micro_batches != 8) continue;
    const std::string file = WEFT_GOLDEN_DIR "/pytorch/zb1p_2rank_2stagep_" + level + ".csv";
    ways.push_back({"zb1p-" + level, false, false, 2, 2, read_file(file, "golden")});
  }
  return ways;
}

std::vector<Way> all_ways(int micro_batches) {
  std::vector<Way> ways = {
      {"no-pipeline"}, {"no-pipeline", true}, {"dualpipev", true, true}, {"gpipe"}, {"zb-v", true}};
  for (const Way& way : ways_from_files(micro_batches)) ways.push_back(way);
  for (int pp : {2, 4}) {
    for (const char* method : {"gpipe", "1f1b", "zb-h1", "zb-h2", "zb-v"}) {
      ways.push_back({method, false, false, pp});
    }
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
  if (!way.csv.empty()) {
    const std::string file = (std::filesystem::temp_directory_path() /
                              ("weft-" + way.method + "-" + std::to_string(getpid()) + ".csv"))
                                 .string();
    write_file(file, way.csv, "test");
    config.schedule.schedules_method = file;
  }
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
  for (const Way& way : all_ways(point.micro_batches)) {
    const Config config = config_of(way, point, tokens.path());
    const LocalOptions options{.max_delay = std::chrono::microseconds(200), .delay_seed = ++seed};
    const std::string found = fingerprint(run_threads(config, way.pp * point.ep, options).steps);
    if (!way.csv.empty()) std::filesystem::remove(config.schedule.schedules_method);
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
