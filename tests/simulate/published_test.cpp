// What papers say about the schedules, through the builders and the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "base/files.h"
#include "schedule/registry.h"
#include "simulate/simulate.h"
#include "timeline/metrics.h"

namespace weft {
namespace {

// The convention of arXiv 2401.10241: a step costs the longest time from one rank's first cell to
// its last; what of it is no work is bubble.
double longest_span(const Timeline& timeline) {
  double longest = 0;
  for (const RankTimeline& rank : timeline.ranks) {
    longest = std::max(longest, rank.events.back().end - rank.events.front().start);
  }
  return longest;
}

using Row = std::map<std::string, std::string>;

std::vector<Row> golden_rows(const std::string& name) {
  std::istringstream lines(read_file(WEFT_GOLDEN_DIR "/zero_bubble/" + name, "golden"));
  std::vector<std::string> header;
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> values;
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
    if (header.empty()) {
      header = values;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = values.at(i);
  }
  return rows;
}

std::string four_digits(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

// Table 5 from the times of table 9; TB is the input gradient alone there.
TEST(Published, BubbleRatesOfZeroBubble) {
  const std::vector<Row> times = golden_rows("table9_profiled_times_ms.csv");
  const std::vector<Row> rates = golden_rows("table5_bubble_rates.csv");
  ASSERT_EQ(times.size(), rates.size());
  const std::map<std::string, std::string> columns = {
      {"1F1B", "1f1b"}, {"ZB-H1", "zb-h1"}, {"ZB-H2", "zb-h2"}};
  int compared = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Row& time = times[i];
    for (const char* key : {"model", "p", "m"}) ASSERT_EQ(time.at(key), rates[i].at(key));
    const int micro_batches = std::stoi(time.at("m"));
    Costs costs;
    costs.stage = {std::stod(time.at("TF")), std::stod(time.at("TB")), std::stod(time.at("TW"))};
    costs.p2p = std::stod(time.at("Tcomm"));
    const double work =
        micro_batches * (costs.stage.forward + costs.stage.dgrad + costs.stage.wgrad);
    for (const auto& [column, method] : columns) {
      const Schedule schedule = build_schedule(
          method, {.num_ranks = std::stoi(time.at("p")), .num_micro_batches = micro_batches});
      const double cost = longest_span(simulate(schedule, costs));
      EXPECT_EQ(four_digits((cost - work) / cost), rates[i].at(column))
          << time.at("model") << " " << column << " M " << micro_batches;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 36);
}

// Closed forms over random sizes and costs that are no whole numbers.
class ClosedForms : public testing::Test {
 protected:
  static constexpr int kTrials = 300;

  ClosedForms() { RecordProperty("seed", static_cast<int>(seed_)); }

  int whole(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  double real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  std::string sizes(const BuildRequest& request) const {
    return "P " + std::to_string(request.num_ranks) + " M " +
           std::to_string(request.num_micro_batches) + " v " +
           std::to_string(request.chunks_per_rank) + " seed " + std::to_string(seed_);
  }
  // W no longer than F and I, as the zero bubble schedules need it.
  void draw_costs() {
    const double wgrad = real(0.1, 10);
    costs_.stage = {wgrad + real(0, 10), wgrad + real(0, 10), wgrad};
    costs_.pair = real(1, 100);
  }
  double work(const BuildRequest& request) const {
    return request.num_micro_batches * request.chunks_per_rank *
           (costs_.stage.forward + costs_.stage.dgrad + costs_.stage.wgrad);
  }
  double makespan(const std::string& method, const BuildRequest& request) const {
    return measure(simulate(build_schedule(method, request), costs_)).makespan;
  }
  double span(const std::string& method, const BuildRequest& request) const {
    return longest_span(simulate(build_schedule(method, request), costs_));
  }

  unsigned seed_ = std::random_device{}();
  std::mt19937 random_{seed_};
  Costs costs_;
};

TEST_F(ClosedForms, OneFOneBAndGPipe) {
  for (int trial = 0; trial < kTrials; ++trial) {
    draw_costs();
    const BuildRequest request{.num_ranks = whole(1, 16), .num_micro_batches = whole(1, 40)};
    SCOPED_TRACE(sizes(request));
    const double bubble =
        (request.num_ranks - 1) * (costs_.stage.forward + costs_.stage.dgrad + costs_.stage.wgrad);
    EXPECT_NEAR(makespan("1f1b", request) - work(request), bubble, 1e-9);
    EXPECT_NEAR(makespan("gpipe", request) - work(request), bubble, 1e-9);
  }
}

// In times of a chunk, for micro-batches in full groups of P.
TEST_F(ClosedForms, Interleaved) {
  for (int trial = 0; trial < kTrials; ++trial) {
    draw_costs();
    const int ranks = whole(1, 8);
    const BuildRequest request{.num_ranks = ranks,
                               .chunks_per_rank = whole(2, 4),
                               .num_micro_batches = ranks * whole(1, 5)};
    SCOPED_TRACE(sizes(request));
    EXPECT_NEAR(makespan("interleaved", request) - work(request),
                (ranks - 1) * (costs_.stage.forward + costs_.stage.dgrad + costs_.stage.wgrad),
                1e-9);
  }
}

TEST_F(ClosedForms, ZeroBubbleH1) {
  for (int trial = 0; trial < kTrials; ++trial) {
    draw_costs();
    const int ranks = whole(1, 16);
    const BuildRequest request{.num_ranks = ranks, .num_micro_batches = ranks + whole(0, 40)};
    SCOPED_TRACE(sizes(request));
    const double bubble =
        (ranks - 1) * (costs_.stage.forward + costs_.stage.dgrad - costs_.stage.wgrad);
    EXPECT_NEAR(makespan("zb-h1", request) - work(request), bubble, 1e-9);
    EXPECT_NEAR(span("zb-h1", request) - work(request), bubble, 1e-9);
  }
}

TEST_F(ClosedForms, ZeroBubbleH2) {
  for (int trial = 0; trial < kTrials; ++trial) {
    draw_costs();
    const int ranks = whole(1, 16);
    const BuildRequest request{.num_ranks = ranks,
                               .num_micro_batches = 2 * ranks - 1 + whole(0, 40)};
    SCOPED_TRACE(sizes(request));
    EXPECT_NEAR(span("zb-h2", request) - work(request),
                (ranks - 1) * (costs_.stage.forward + costs_.stage.dgrad - 2 * costs_.stage.wgrad),
                1e-9);
  }
}

// Without bubble where F, I and W last equally long: ranks begin one after the other.
TEST_F(ClosedForms, ZeroBubbleV) {
  for (int trial = 0; trial < kTrials; ++trial) {
    const double unit = real(0.1, 10);
    costs_.stage = {unit, unit, unit};
    const int ranks = whole(1, 16);
    const BuildRequest request{.num_ranks = ranks,
                               .chunks_per_rank = 2,
                               .num_micro_batches = 2 * ranks - 1 + whole(0, 40)};
    SCOPED_TRACE(sizes(request));
    EXPECT_NEAR(span("zb-v", request) - work(request), 0, 1e-9);
    EXPECT_NEAR(makespan("zb-v", request) - work(request), (ranks - 1) * unit, 1e-9);
  }
}

}  // namespace
}  // namespace weft
