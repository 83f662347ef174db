#include "train/metrics_file.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "train/support.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::read_file;
using testing::TempDir;

TEST(PrintMetrics, HasTheKeysOfTheCommandLinesPageInTheirOrder) {
  EXPECT_EQ(print_metrics({.step = 1, .loss = 5.5451774597167969, .learning_rate = 0.0003}),
            R"({"step":1,"loss":5.545177459716797,"aux_loss":0.0,"mtp_loss":0.0,"grad_norm":0.0,)"
            R"("learning_rate":0.0003,"tokens":0,"step_ms":0.0,"tokens_per_second":0.0,)"
            R"("all_to_all_ms":0.0,"all_to_all_exposed_ms":0.0,"all_to_all_hidden_steady":null,)"
            R"("all_to_all_hidden_outside":null,"counts_exposed_ms":0.0,"p2p_exposed_ms":0.0,)"
            R"("bubble_ms":0.0,"peak_activation_bytes":0,"peak_live_chunks":0,)"
            R"("max_pending_wgrads":0})");
}

TEST(PrintMetrics, DigestsAreHexDigits) {
  const auto line = nlohmann::json::parse(
      print_metrics({.gradient_digest = 0xABCu, .parameter_digest = UINT64_MAX}));
  EXPECT_EQ(line.at("gradient_digest"), "0000000000000abc");
  EXPECT_EQ(line.at("parameter_digest"), "ffffffffffffffff");
}

TEST(PrintMetrics, FloatsReadBackToTheSameBits) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308,
                             5.5451774597167969, -0.0, 123456789.123456789}) {
    const auto line = nlohmann::json::parse(print_metrics({.loss = value}));
    const auto loss = line.at("loss").get<double>();
    EXPECT_EQ(std::memcmp(&loss, &value, sizeof value), 0) << value;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(nlohmann::json::parse(print_metrics({.loss = nan})).at("loss").is_null());
}

TEST(MetricsFile, LinesAreThereAsSoonAsTheyAreWritten) {
  TempDir directory;
  const std::string path = directory.file("m.jsonl");
  {
    MetricsFile file(path, 0);
    file.write({.step = 1});
    EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n");
  }
  {
    MetricsFile file(path, 1);
    file.write({.step = 2});
  }
  EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n" + print_metrics({.step = 2}) + "\n");
  MetricsFile anew(path, 0);
  EXPECT_EQ(read_file(path), "");
}

TEST(MetricsFile, AnotherRunsFileIsLeftAlone) {
  TempDir directory;
  const std::string path = directory.file("m.jsonl");
  MetricsFile first(path, 0);
  first.write({.step = 1});
  for (const std::int64_t after_step : {0, 1}) {
    EXPECT_THAT(message_of([&] { MetricsFile second(path, after_step); }),
                HasSubstr("--metrics " + path + ": another run is writing there"));
  }
  EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n");
  // What is no file can be shared.
  MetricsFile null("/dev/null", 0);
  MetricsFile again("/dev/null", 0);
}

TEST(MetricsFile, StepsThatAreTakenAgainStandOnce) {
  TempDir directory;
  const std::string path = directory.file("m.jsonl");
  const auto line = [](std::int64_t step) { return print_metrics({.step = step}) + "\n"; };
  const std::string foreign = "no step\n{}\n[1]\n";
  testing::write_file(path, foreign + line(1) + line(2) + line(3) + "{\"step\": 4, \"lo");
  {
    const MetricsFile file(path, 3);
  }
  EXPECT_EQ(read_file(path), foreign + line(1) + line(2) + line(3)) << "a cut line is gone";
  MetricsFile file(path, 1);
  EXPECT_EQ(read_file(path), foreign + line(1));
  file.write({.step = 2});
  EXPECT_EQ(read_file(path), foreign + line(1) + line(2));
}

TEST(MetricsFile, AFullDiskLeavesNoPartOfALine) {
  testing::SmallDisk disk(64 << 10);
  WEFT_NEEDS_DISK(disk);
  const std::string path = disk.file("m");
  const std::string line = print_metrics({.step = 1}) + "\n";
  {
    MetricsFile file(path, 0);
    EXPECT_THROW(while (true) file.write({.step = 1}), RuntimeFault);
  }
  const std::string left = read_file(path);
  EXPECT_GT(left.size(), 0u);
  EXPECT_EQ(left.size() % line.size(), 0u);
  const std::string more = disk.file("more");
  EXPECT_THROW(MetricsFile(more, 0).write({.step = 1}), RuntimeFault);
  EXPECT_FALSE(testing::fs::exists(more));
}

TEST(MetricsFile, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(message_of<RuntimeFault>([] { MetricsFile file("/nonexistent/m", 0); }),
              HasSubstr("/nonexistent/m: No such file"));
}

TEST(MetricsFile, AFullDiskIsAFault) {
  EXPECT_THAT(message_of<RuntimeFault>([] {
                MetricsFile file("/dev/full", 0);
                file.write({.step = 1});
              }),
              HasSubstr("/dev/full: No space left on device"));
}

}  // namespace
}  // namespace weft
