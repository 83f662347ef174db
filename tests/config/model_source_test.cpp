#include "config/model_source.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/flag.h"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string value(const ModelDescription& model, const std::string& flag) {
  const auto at = model.flags.find(flag);
  return at == model.flags.end() ? "" : at->second.text;
}

std::string violations_of(const std::string& json) {
  try {
    parse_model_config(json, "config.json");
  } catch (const UserError& error) {
    std::string text;
    for (const Violation& violation : error.violations()) {
      text += violation.found + ": " + violation.message + "\n";
    }
    return text;
  }
  return "";
}

const std::string kSizes =
    R"("hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 100,
       "num_experts_per_tok": 2, "intermediate_size": 128, "moe_intermediate_size": 32)";

std::string qwen3(const std::string& more) {
  return R"({"model_type": "qwen3_moe", )" + kSizes + ", " + more + "}";
}

TEST(ModelSource, TransformersFourAndFiveSayTheSame) {
  const ModelDescription four =
      parse_model_config(qwen3(R"("num_experts": 8, "rope_theta": 5000.0, "rope_scaling": null,
               "torch_dtype": "bfloat16", "norm_topk_prob": true)"),
                         "four");
  const ModelDescription five = parse_model_config(
      qwen3(R"("num_local_experts": 8, "dtype": "bfloat16", "norm_topk_prob": true,
               "rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"})"),
      "five");
  for (const auto& [flag, described] : four.flags) EXPECT_EQ(value(five, flag), described.text);
  EXPECT_EQ(value(five, "rotary-base"), "5000.0");
  EXPECT_EQ(value(five, "num-experts"), "8");
  EXPECT_EQ(four.extras, five.extras);
}

TEST(ModelSource, DeepSeekNamesItsExpertsRouted) {
  const std::string json = R"({"model_type": "deepseek_v2", )" + kSizes +
                           R"(, "n_routed_experts": 16, "n_shared_experts": 2,
      "kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 6,
      "first_k_dense_replace": 1})";
  const ModelDescription model = parse_model_config(json, "config.json");
  EXPECT_EQ(value(model, "num-experts"), "16");
  EXPECT_EQ(value(model, "moe-shared-expert-intermediate-size"), "64");
  EXPECT_EQ(value(model, "first-k-dense-replace"), "1");
  EXPECT_EQ(model.extras.kv_lora_rank, 8);
  EXPECT_EQ(model.extras.q_lora_rank, 0);
  EXPECT_THAT(model.extras.untrained, Contains("multi-head latent attention"));
}

TEST(ModelSource, QwenTwoHasBiasesUnlessItSaysNot) {
  const std::string json = R"({"model_type": "qwen2_moe", )" + kSizes +
                           R"(, "num_experts": 8, "shared_expert_intermediate_size": 48,
      "decoder_sparse_step": 2})";
  const ModelDescription model = parse_model_config(json, "config.json");
  EXPECT_TRUE(model.extras.input_bias);
  EXPECT_FALSE(model.extras.output_bias);
  EXPECT_TRUE(model.extras.shared_expert_gate);
  EXPECT_EQ(value(model, "moe-layer-freq"), "[0,1,0,1]");
}

// transformers adds the loss only where the router's logits are asked for.
TEST(ModelSource, AuxiliaryLossOnlyWithRouterLogits) {
  const std::string coefficient = R"("num_experts": 8, "router_aux_loss_coef": 0.01)";
  EXPECT_EQ(value(parse_model_config(qwen3(coefficient), "c"), "moe-aux-loss-coeff"), "");
  EXPECT_EQ(value(parse_model_config(qwen3(coefficient + R"(, "output_router_logits": true)"), "c"),
                  "moe-aux-loss-coeff"),
            "0.01");
}

TEST(ModelSource, PublishedModelsAreAccepted) {
  for (const ModelPreset& preset : model_presets()) {
    Config config;
    for (const auto& [flag, described] : read_model(std::string(preset.name)).flags) {
      EXPECT_FALSE(set_flag(*find_flag(flag), described.text, flag, config)) << flag;
    }
  }
}

TEST(ModelSource, AllThatIsWrongIsSaid) {
  const std::string found = violations_of(
      R"({"model_type": "mixtral", "hidden_size": "big", "num_hidden_layers": 4.5,
          "num_attention_heads": 4, "num_local_experts": 8, "intermediate_size": 8})");
  EXPECT_THAT(found, HasSubstr(R"(config.json: hidden_size = "big": a whole number is expected)"));
  EXPECT_THAT(found, HasSubstr("config.json: num_hidden_layers = 4.5: a whole number"));
  EXPECT_THAT(found, HasSubstr("config.json: vocab_size: missing"));
  EXPECT_THAT(found, HasSubstr("config.json: num_experts_per_tok: missing"));
  EXPECT_THAT(violations_of(R"({"model_type": "mixtrel"})"), HasSubstr("did you mean mixtral?"));
  EXPECT_THAT(violations_of("{}"), HasSubstr("config.json: model_type: this family is not known"));
  EXPECT_THAT(violations_of("[]"), HasSubstr("a JSON object is expected"));
  EXPECT_THAT(violations_of("{\"model_type\""), HasSubstr("this is no JSON"));
}

TEST(ModelSource, WhatIsMissingHasTheFamilysOwnName) {
  EXPECT_THAT(violations_of(R"({"model_type": "qwen3_moe"})"),
              HasSubstr("config.json: num_experts: missing"));
  EXPECT_THAT(violations_of(R"({"model_type": "mixtral"})"),
              HasSubstr("config.json: num_local_experts: missing"));
  EXPECT_THAT(violations_of(R"({"model_type": "deepseek_v3"})"),
              HasSubstr("config.json: n_routed_experts: missing"));
}

TEST(ModelSource, ASizeThatIsNoneIsNamedBesideWhatIsMissing) {
  EXPECT_THAT(violations_of(R"({"model_type": "qwen3_moe", "hidden_size": -64})"),
              HasSubstr("config.json: hidden_size = -64: a whole number from 1"));
}

TEST(ModelSource, UnknownNames) {
  try {
    read_model("mixtral-8x7");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.violations().at(0).message, HasSubstr("did you mean mixtral-8x7b?"));
  }
}

TEST(ModelSource, FolderOfAModel) {
  const std::string folder = ::testing::TempDir() + "weft_model_source";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << qwen3(R"("num_experts": 8)");
  EXPECT_EQ(value(read_model(folder), "hidden-size"), "64");
  EXPECT_EQ(value(read_model(folder + "/config.json"), "hidden-size"), "64");
  std::filesystem::remove_all(folder);
}

TEST(ModelSource, FlagsBeatTheModel) {
  std::vector<Violation> violations;
  Request request =
      read_request(Verb::Plan, {"--model", "mixtral-8x7b", "--num-layers", "2"}, {}, violations);
  take_model(request, violations);
  EXPECT_THAT(violations, IsEmpty());
  EXPECT_EQ(request.config.model.num_layers, 2);
  EXPECT_EQ(request.config.model.hidden_size, 4096);
  EXPECT_EQ(request.sources.at("num-layers").overrides, "32");
  EXPECT_EQ(request.found("hidden-size"), "mixtral-8x7b: hidden_size = 4096");
}

// A config from which bytes are dropped or changed is accepted or refused, nothing else.
TEST(ModelSource, DamagedConfigsAreRefused) {
  const std::string whole(model_presets().back().config);
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::string text = whole;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1 + random() % 5);
      } else {
        text[at] = static_cast<char>(random() % 256);
      }
    }
    try {
      parse_model_config(text, "damaged");
    } catch (const UserError&) {
    }
  }
}

}  // namespace
}  // namespace weft
