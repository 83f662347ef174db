#include "train/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weft {
namespace {

using std::chrono::seconds;

TEST(FormatDuration, RoundsToWhatMatters) {
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(192), "3 min 12 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
}

TEST(FormatProgress, OneLine) {
  EXPECT_EQ(format_progress({7, 400, 2.31449, 1979.6, 192}),
            "step   7/400  loss 2.3145  1980 tokens/s  3 min 12 s left");
  EXPECT_EQ(format_progress({400, 400, 2.0, 1.0, 0}),
            "step 400/400  loss 2.0000  1 tokens/s  done");
}

TEST(Progress, OffATerminalALineNowAndThen) {
  std::ostringstream out;
  Progress progress(out, false, 0, 4, seconds(10));
  const Progress::Clock::time_point start{};
  progress.update(1, 5, 1, start + seconds(100));
  progress.update(2, 4, 1, start + seconds(106));
  progress.update(3, 3, 1, start + seconds(112));
  progress.update(4, 2, 1, start + seconds(113));
  progress.finish();
  EXPECT_EQ(out.str(),
            "step 1/4  loss 5.0000  1 tokens/s\n"
            "step 3/4  loss 3.0000  1 tokens/s  6 s left\n"
            "step 4/4  loss 2.0000  1 tokens/s  done\n");
}

TEST(Progress, OnATerminalOneLineIsRewritten) {
  std::ostringstream out;
  Progress progress(out, true, 6, 8);
  const Progress::Clock::time_point start{};
  progress.update(7, 5, 1, start);
  progress.message("saved");
  progress.update(8, 4, 1, start);
  progress.finish();
  EXPECT_EQ(out.str(),
            "\r\033[Kstep 7/8  loss 5.0000  1 tokens/s"
            "\r\033[Ksaved\n"
            "\r\033[Kstep 8/8  loss 4.0000  1 tokens/s  done\n");
}

}  // namespace
}  // namespace weft
