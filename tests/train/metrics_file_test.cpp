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
    MetricsFile file(path, false);
    file.write({.step = 1});
    EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n");
  }
  {
    MetricsFile file(path, true);
    file.write({.step = 2});
  }
  EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n" + print_metrics({.step = 2}) + "\n");
  MetricsFile anew(path, false);
  EXPECT_EQ(read_file(path), "");
}

TEST(MetricsFile, AnotherRunsFileIsLeftAlone) {
  TempDir directory;
  const std::string path = directory.file("m.jsonl");
  MetricsFile first(path, false);
  first.write({.step = 1});
  for (const bool append : {false, true}) {
    EXPECT_THAT(message_of([&] { MetricsFile second(path, append); }),
                HasSubstr("--metrics " + path + ": another run is writing there"));
  }
  EXPECT_EQ(read_file(path), print_metrics({.step = 1}) + "\n");
  // What is no file can be shared.
  MetricsFile null("/dev/null", false);
  MetricsFile again("/dev/null", false);
}

TEST(MetricsFile, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(message_of<RuntimeFault>([] { MetricsFile file("/nonexistent/m", false); }),
              HasSubstr("/nonexistent/m: No such file"));
}

TEST(MetricsFile, AFullDiskIsAFault) {
  EXPECT_THAT(message_of<RuntimeFault>([] {
                MetricsFile file("/dev/full", false);
                file.write({.step = 1});
              }),
              HasSubstr("/dev/full: No space left on device"));
}

}  // namespace
}  // namespace weft
