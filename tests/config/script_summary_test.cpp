#include "config/script_summary.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string summary(const std::vector<std::string>& arguments) {
  std::vector<Violation> violations;
  return print_script_flags(script_flags_of(read_request(Verb::Plan, arguments, {}, violations)));
}

TEST(ScriptSummary, SaysWhatBecomesOfEachFlag) {
  EXPECT_EQ(summary({"--num-layers", "8", "--swiglu", "--use-flash-attn", "--no-rope-fusion",
                     "--log-interval", "1", "--normalization", "LayerNorm", "--padded-vocab-size",
                     "128", "--tokenizer-type", "Llama2Tokenizer"}),
            "Read as another flag:\n"
            "  --padded-vocab-size 128\n"
            "      sets --vocab-size: the rows of embedding and head\n"
            "\n"
            "The same here:\n"
            "  --swiglu\n"
            "      feed-forward layers and experts are gated by SiLU\n"
            "\n"
            "Accepted, without effect:\n"
            "  --tokenizer-type Llama2Tokenizer\n"
            "      `weft data prepare` takes it\n"
            "  --log-interval 1\n"
            "      each step is logged, and written to --metrics FILE\n"
            "  --no-rope-fusion, --use-flash-attn\n"
            "      it chooses between kernels that compute the same\n"
            "\n"
            "Refused:\n"
            "  --normalization LayerNorm\n"
            "      norms are RMSNorm\n");
}

TEST(ScriptSummary, IsEmptyWhereEveryFlagIsNative) {
  EXPECT_EQ(summary({"--num-layers", "8", "--lr", "0.1", "--moe-fb-overlap", "--bf16"}), "");
}

}  // namespace
}  // namespace weft
