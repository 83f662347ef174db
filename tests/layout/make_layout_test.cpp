#include "layout/make_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/error.h"
#include "layout/layout_string.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

Config config_of(int ranks, std::optional<int> layers, int mtp = 0) {
  Config config;
  config.parallel.pipeline_model_parallel_size = ranks;
  config.model.num_layers = layers;
  config.model.mtp_num_layers = mtp;
  return config;
}

Config with_string(int ranks, std::optional<int> layers, int mtp, const std::string& text) {
  Config config = config_of(ranks, layers, mtp);
  config.schedule.pipeline_model_parallel_layout = text;
  return config;
}

Layout layout_of(const Config& config, Placement placement) {
  return make_layout(config, make_stage_map(config, placement));
}

std::vector<std::string> rank_texts(const Layout& layout, int rank) {
  std::vector<std::string> texts;
  for (int c = 0; c < layout.map.chunks_per_rank; ++c) {
    texts.push_back(stage_text(layout.stages[layout.map.stage_of(Rank(rank), Chunk(c)).value]));
  }
  return texts;
}

template <class Make>
std::vector<std::string> rules_of(Make make) {
  std::vector<std::string> rules;
  try {
    make();
  } catch (const UserError& error) {
    for (const Violation& violation : error.violations()) rules.push_back(violation.rule);
  }
  return rules;
}

std::vector<std::string> rules_of(const Config& config, Placement placement) {
  return rules_of([&] { layout_of(config, placement); });
}

TEST(SplitLayers, WhatDoesNotDivideIsSpread) {
  EXPECT_THAT(split_layers(8, 4), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(split_layers(9, 4), ElementsAre(2, 2, 3, 2));
  EXPECT_THAT(split_layers(10, 4), ElementsAre(2, 3, 3, 2));
  EXPECT_THAT(split_layers(11, 4), ElementsAre(3, 3, 3, 2));
  EXPECT_THAT(split_layers(3, 2), ElementsAre(2, 1));
  EXPECT_THAT(split_layers(2, 4), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(split_layers(5, 1), ElementsAre(5));
}

TEST(SplitLayers, EveryLayerIsHeldOnceAndStagesDifferByOne) {
  for (int layers = 0; layers <= 40; ++layers) {
    for (int stages = 1; stages <= 16; ++stages) {
      const auto counts = split_layers(layers, stages);
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), layers);
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      EXPECT_LE(*most - *least, 1);
      EXPECT_EQ(counts.back(), *least);
    }
  }
}

// The examples of the specification.
TEST(MakeLayout, LoopedStringOfEightLayers) {
  const Layout layout = layout_of(with_string(2, 8, 1, "Ett|tt|ttt|tmL"), Placement::Looped);
  EXPECT_THAT(rank_texts(layout, 0), ElementsAre("Ett", "ttt"));
  EXPECT_THAT(rank_texts(layout, 1), ElementsAre("tt", "tmL"));
}

TEST(MakeLayout, SixtyOneLayersOnSixteenRanks) {
  const Layout layout = layout_of(with_string(16, 61, 1, "Ettt|(tt|)*29,m|L"), Placement::Looped);
  EXPECT_EQ(layout.map, (StageMap{16, 2, Placement::Looped}));
  EXPECT_EQ(layout.stages.size(), 32u);
  EXPECT_EQ(layout.layer_kinds.size(), 61u);
}

TEST(MakeLayout, FourteenLayersOverAV) {
  const Layout layout = layout_of(with_string(4, 14, 1, "Ett|(tt|)*6mL"), Placement::V);
  EXPECT_THAT(rank_texts(layout, 0), ElementsAre("Ett", "mL"));
  EXPECT_THAT(layout.stages[3].decoder_layers, ElementsAre(6, 7));
  EXPECT_THAT(layout.stages[4].decoder_layers, ElementsAre(8, 9));
  EXPECT_EQ(layout.map.rank_of(Stage(3)), Rank(3));
  EXPECT_EQ(layout.map.rank_of(Stage(4)), Rank(3));
}

TEST(MakeLayout, UniformSplitWithMtpBesideTheLoss) {
  EXPECT_EQ(print_layout_string(layout_of(config_of(4, 10, 1), Placement::Looped).stages),
            "Ett|ttt|ttt|ttmL");
  EXPECT_EQ(print_layout_string(layout_of(config_of(2, 9), Placement::V).stages), "Ett|tt|ttt|ttL");
}

TEST(MakeLayout, WithoutLayersEachStageIsOne) {
  EXPECT_EQ(print_layout_string(layout_of(config_of(2, {}), Placement::V).stages), "Et|t|t|tL");
  EXPECT_EQ(print_layout_string(layout_of(config_of(1, {}), Placement::Looped).stages), "EtL");
}

TEST(MakeLayout, VirtualStages) {
  Config config = config_of(2, 12);
  config.schedule.num_virtual_stages_per_pipeline_rank = 3;
  EXPECT_EQ(print_layout_string(layout_of(config, Placement::Looped).stages),
            "Ett|tt|tt|tt|tt|ttL");
  config = config_of(2, 12);
  config.schedule.num_layers_per_virtual_pipeline_stage = 2;
  EXPECT_EQ(make_stage_map(config, Placement::Looped), (StageMap{2, 3, Placement::Looped}));
  // Ten layers do not fill six stages of two; the stages take what there is.
  config.model.num_layers = 10;
  EXPECT_EQ(print_layout_string(layout_of(config, Placement::Looped).stages), "Et|tt|tt|tt|tt|tL");
}

std::vector<int> counts_of(const Layout& layout) {
  std::vector<int> counts;
  for (const StageLayers& stage : layout.stages) {
    counts.push_back(static_cast<int>(stage.decoder_layers.size()));
  }
  return counts;
}

// As Megatron counts: the first rank holds 2 layers, the last 4, the ranks between share 10.
TEST(MakeLayout, SizesOfTheEnds) {
  Config config = config_of(4, 16);
  config.schedule.decoder_first_pipeline_num_layers = 2;
  config.schedule.decoder_last_pipeline_num_layers = 4;
  EXPECT_THAT(counts_of(layout_of(config, Placement::Looped)), ElementsAre(2, 5, 5, 4));
  config.schedule.num_virtual_stages_per_pipeline_rank = 2;
  EXPECT_THAT(counts_of(layout_of(config, Placement::Looped)), ElementsAre(1, 2, 3, 2, 1, 3, 2, 2));
  config.schedule.num_virtual_stages_per_pipeline_rank.reset();
  EXPECT_THAT(counts_of(layout_of(config, Placement::V)), ElementsAre(2, 1, 2, 2, 2, 2, 1, 4));
  config.schedule.decoder_last_pipeline_num_layers.reset();
  config.schedule.decoder_first_pipeline_num_layers = 0;
  EXPECT_THAT(counts_of(layout_of(config, Placement::Looped)), ElementsAre(0, 5, 6, 5));
}

TEST(MakeLayout, SizesOfTheEndsThatDoNotFit) {
  const auto rules = [](int ranks, std::optional<int> layers, int first, int last) {
    Config config = config_of(ranks, layers);
    config.schedule.decoder_first_pipeline_num_layers = first;
    config.schedule.decoder_last_pipeline_num_layers = last;
    return rules_of(config, Placement::Looped);
  };
  EXPECT_THAT(rules(2, 8, 3, 5), ElementsAre());
  EXPECT_THAT(rules(2, 8, 3, 4), ElementsAre("end-stage-sizes"));
  EXPECT_THAT(rules(4, 8, 5, 4), ElementsAre("end-stage-sizes"));
  EXPECT_THAT(rules(1, 8, 4, 4), ElementsAre("end-stage-sizes"));
  EXPECT_THAT(rules(4, {}, 1, 1), ElementsAre("end-stage-sizes"));
}

TEST(MakeLayout, SaysWhatDoesNotDivide) {
  const Config config = config_of(4, 10);
  EXPECT_EQ(uneven_note(config, layout_of(config, Placement::Looped)),
            "10 decoder layers do not divide by 4 stages and are spread, 2 or 3 each: "
            "Ett|ttt|ttt|ttL");
  const Config even = config_of(4, 8);
  EXPECT_EQ(uneven_note(even, layout_of(even, Placement::Looped)), std::nullopt);
  const Config string = with_string(4, {}, 0, "Ett|ttt|ttt|ttL");
  EXPECT_EQ(uneven_note(string, layout_of(string, Placement::Looped)), std::nullopt);
}

// 10 less 1 and 2 leave 7 to the two stages between; 10 less 1 and 1 would leave 4 to each.
TEST(MakeLayout, SaysWhatIsLeftBetweenTheEndsAndDoesNotDivide) {
  Config config = config_of(4, 10);
  config.schedule.decoder_first_pipeline_num_layers = 1;
  config.schedule.decoder_last_pipeline_num_layers = 2;
  EXPECT_EQ(uneven_note(config, layout_of(config, Placement::Looped)),
            "7 decoder layers do not divide by the 2 stages that share them and are spread, 3 or 4 "
            "each: Et|tttt|ttt|ttL");
  config.schedule.decoder_last_pipeline_num_layers = 1;
  EXPECT_EQ(uneven_note(config, layout_of(config, Placement::Looped)), std::nullopt);
}

// Whatever the numbers: the decoder layers of all stages, one behind the other, are 0, 1, 2, ...
TEST(MakeLayout, EveryLayerIsHeldExactlyOnce) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    const int ranks = draw(1, 8);
    const int layers = draw(1, 40);
    const int mtp = draw(0, 2);
    Config config = config_of(ranks, layers, mtp);
    const Placement placement = random() % 3 == 0 ? Placement::V : Placement::Looped;
    if (placement == Placement::Looped && random() % 2 == 0) {
      config.schedule.num_virtual_stages_per_pipeline_rank = draw(1, 4);
    } else if (placement == Placement::Looped && random() % 2 == 0) {
      config.schedule.num_layers_per_virtual_pipeline_stage = draw(1, 5);
    }
    const bool ends = ranks > 2 && !config.schedule.num_layers_per_virtual_pipeline_stage;
    if (ends && random() % 2 == 0) {
      config.schedule.decoder_first_pipeline_num_layers = draw(0, layers / 2);
    }
    if (ends && random() % 2 == 0) {
      config.schedule.decoder_last_pipeline_num_layers = draw(0, layers / 2);
    }
    config.model.noop_layers = std::to_string(draw(0, layers - 1));
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Layout layout = layout_of(config, placement);
    std::vector<int> decoder, mtp_layers;
    int embeddings = 0, losses = 0;
    for (const StageLayers& stage : layout.stages) {
      decoder.insert(decoder.end(), stage.decoder_layers.begin(), stage.decoder_layers.end());
      mtp_layers.insert(mtp_layers.end(), stage.mtp_layers.begin(), stage.mtp_layers.end());
      embeddings += stage.embedding;
      losses += stage.loss;
    }
    std::vector<int> expected(layers), expected_mtp(mtp);
    std::iota(expected.begin(), expected.end(), 0);
    std::iota(expected_mtp.begin(), expected_mtp.end(), 0);
    ASSERT_EQ(decoder, expected);
    ASSERT_EQ(mtp_layers, expected_mtp);
    ASSERT_EQ(embeddings, 1);
    ASSERT_EQ(losses, 1);
    ASSERT_TRUE(layout.stages.front().embedding && layout.stages.back().loss);
    ASSERT_EQ(parse_layout_string(print_layout_string(layout.stages)), layout.stages);
    if (const auto first = config.schedule.decoder_first_pipeline_num_layers) {
      int held = 0;
      for (int s = 0; s < layout.map.num_stages(); ++s) {
        const bool counts = placement == Placement::V ? s == 0 : s % ranks == 0;
        if (counts) held += static_cast<int>(layout.stages[s].decoder_layers.size());
      }
      ASSERT_EQ(held, *first);
    }
  }
}

TEST(MakeLayout, ADenseLayerFirstSharedExpertsAndNoop) {
  Config config = config_of(2, 4);
  config.model.num_experts = 8;
  config.model.first_k_dense_replace = 1;
  config.model.moe_shared_expert_intermediate_size = 64;
  config.model.noop_layers = "3";
  const Layout layout = layout_of(config, Placement::Looped);
  EXPECT_THAT(layout.layer_kinds,
              ElementsAre(LayerKind::Dense, LayerKind::Moe, LayerKind::Moe, LayerKind::Noop));
  EXPECT_TRUE(layout.shared_expert);
  config.model.num_experts = 0;
  EXPECT_FALSE(layout_of(config, Placement::Looped).shared_expert);
}

TEST(MakeLayout, AStringAloneSaysHowManyLayersThereAre) {
  const Layout layout = layout_of(with_string(2, {}, 0, "Ett|tmL"), Placement::Looped);
  EXPECT_EQ(layout.layer_kinds.size(), 3u);
  EXPECT_THAT(layout.stages[1].mtp_layers, ElementsAre(0));
}

TEST(MakeLayout, Refused) {
  const auto looped = Placement::Looped;
  EXPECT_THAT(rules_of(config_of(0, 4), looped), ElementsAre("at-least-one"));
  EXPECT_THAT(rules_of(config_of(2, 0, -1), looped), ElementsAre("at-least-one", "mtp-num-layers"));
  EXPECT_THAT(rules_of(with_string(2, {}, 0, "Et|t|L"), looped),
              ElementsAre("layout-stages-divide"));
  EXPECT_THAT(rules_of(with_string(2, {}, 0, "Et|tL"), Placement::V),
              ElementsAre("layout-v-stages"));
  EXPECT_THAT(rules_of(with_string(2, 3, 1, "Et|tL"), looped),
              ElementsAre("layout-num-layers", "layout-mtp-num-layers"));
  EXPECT_THAT(rules_of(with_string(2, 2, 0, "Et|tmL"), looped),
              ElementsAre("layout-mtp-num-layers"));
  EXPECT_THAT(rules_of(with_string(2, 2, 0, "Et|x"), looped), ElementsAre("layout-string"));

  Config config = config_of(2, {});
  config.schedule.num_layers_per_virtual_pipeline_stage = 2;
  EXPECT_THAT(rules_of(config, looped), ElementsAre("layers-per-stage-needs-layers"));
  EXPECT_THAT(rules_of(config, Placement::V), ElementsAre("v-no-virtual-pipeline"));
  config.schedule.num_virtual_stages_per_pipeline_rank = 0;
  EXPECT_THAT(rules_of(config, looped), ElementsAre("at-least-one", "one-virtual-pipeline-flag"));
  config = with_string(2, {}, 0, "Et|tL");
  config.schedule.num_virtual_stages_per_pipeline_rank = 1;
  EXPECT_THAT(rules_of(config, looped), ElementsAre("layout-no-virtual-pipeline"));

  const Config two = with_string(2, {}, 0, "Et|tL");
  EXPECT_THAT(rules_of([&] { make_layout(two, {2, 2, Placement::Looped}); }),
              ElementsAre("layout-schedule-stages"));
}

}  // namespace
}  // namespace weft
