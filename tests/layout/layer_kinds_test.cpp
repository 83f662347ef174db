#include "layout/layer_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

// d dense, m MoE, - noop; or the first message.
std::string kinds(const ModelConfig& model, int num_layers) {
  std::vector<Violation> violations;
  std::string text;
  for (const LayerKind kind : make_layer_kinds(model, num_layers, violations)) {
    text += kind == LayerKind::Dense ? 'd' : kind == LayerKind::Moe ? 'm' : '-';
  }
  return violations.empty() ? text : violations[0].found + ": " + violations[0].message;
}

ModelConfig moe(const std::string& freq, int first_dense = 0, const std::string& noop = "") {
  ModelConfig model;
  model.num_experts = 8;
  model.moe_layer_freq = freq;
  model.first_k_dense_replace = first_dense;
  model.noop_layers = noop;
  return model;
}

TEST(LayerKinds, WithoutExpertsEveryLayerIsDense) {
  ModelConfig model;
  model.moe_layer_freq = "1";
  EXPECT_EQ(kinds(model, 3), "ddd");
  model.moe_layer_freq = "x";
  EXPECT_THAT(kinds(model, 3), HasSubstr("expected a number, or a list"));
}

TEST(LayerKinds, Frequencies) {
  EXPECT_EQ(kinds(moe(""), 4), "mmmm");
  EXPECT_EQ(kinds(moe("1"), 4), "mmmm");
  EXPECT_EQ(kinds(moe("2"), 5), "mdmdm");
  EXPECT_EQ(kinds(moe("[0,1,1]"), 3), "dmm");
  EXPECT_EQ(kinds(moe("[0]*3+[1]*4"), 7), "dddmmmm");
  EXPECT_EQ(kinds(moe("([0]*1+[1]*3)*2"), 8), "dmmmdmmm");
  EXPECT_EQ(kinds(moe(" ([1] * 3 + [0]) * 2 "), 8), "mmmdmmmd");
}

TEST(LayerKinds, FirstLayersDense) {
  EXPECT_EQ(kinds(moe("", 1), 4), "dmmm");
  EXPECT_EQ(kinds(moe("2", 1), 5), "ddmdm");
  EXPECT_EQ(kinds(moe("", 3), 3), "ddd");
  EXPECT_EQ(kinds(moe("", 4), 3),
            "--first-k-dense-replace 4: of 3 decoder layers (--num-layers; without it one a stage) "
            "at most all can be dense");
}

TEST(LayerKinds, NoopLayersComeLastAndCount) {
  EXPECT_EQ(kinds(moe("", 1, "0,3"), 4), "-mm-");
  ModelConfig dense;
  dense.noop_layers = "1";
  EXPECT_EQ(kinds(dense, 3), "d-d");
}

TEST(LayerKinds, Refused) {
  EXPECT_THAT(kinds(moe("[0,1]"), 3), HasSubstr("the list names 2"));
  EXPECT_THAT(kinds(moe("0"), 3), HasSubstr("1 or more"));
  for (const char* freq : {"x", "[0,2]", "[", "[]", "[0]*", "[0]*9999999999999999999", "([0]*2",
                           "[0]]", "[0]+", "[0]*90000*90000", "((((((((((((((((((([0])))"}) {
    EXPECT_THAT(kinds(moe(freq), 1), HasSubstr("expected a number, or a list")) << freq;
  }
  EXPECT_EQ(kinds(moe("", 0, "1,4"), 4),
            "--noop-layers 1,4: `4` is no layer; expected numbers from 0 to 3, joined by commas");
  EXPECT_THAT(kinds(moe("", 0, "1,,2"), 4), HasSubstr("`` is no layer"));
  EXPECT_THAT(kinds(moe("", 0, "-1"), 4), HasSubstr("`-1` is no layer"));
}

}  // namespace
}  // namespace weft
