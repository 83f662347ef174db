#include "overlap/stage_runner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <ostream>
#include <thread>

#include "overlap/sequential_driver.h"
#include "support/plain_model.h"

namespace weft::testing {
namespace {

// Before the first product of the process: see docs on bit-identity.
const bool kStrictProducts = setenv("MKL_CBWR", "AUTO,STRICT", /*overwrite=*/0) == 0;

using enum LayerKind;

ModelConfig small_model() {
  ModelConfig model;
  model.hidden_size = 16;
  model.ffn_hidden_size = 24;
  model.num_attention_heads = 4;
  model.num_query_groups = 2;
  model.seq_length = 8;
  model.vocab_size = 32;
  model.num_experts = 4;
  model.moe_router_topk = 2;
  model.moe_ffn_hidden_size = 12;
  model.untie_embeddings_and_output_weights = true;
  return model;
}

// Micro-batches of two sequences, some labels not counted, unequally many per micro-batch.
std::vector<PlainBatch> random_batches(const ModelConfig& model, int count) {
  at::Generator generator = at::detail::createCPUGenerator(7);
  std::vector<PlainBatch> batches;
  for (int i = 0; i < count; ++i) {
    const auto draw = [&] {
      return at::randint(model.vocab_size, {2, model.seq_length}, generator, at::kLong);
    };
    PlainBatch batch{draw(), draw()};
    batch.labels.narrow(1, 0, 2 * i + 1).fill_(-100);
    batches.push_back(batch);
  }
  return batches;
}

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const double norm = b.norm().item<double>();
  const double difference = (a.to(at::kDouble) - b).norm().item<double>();
  return norm > 0 ? difference / norm : difference;
}

struct Case {
  const char* name;
  ModelConfig model;
  std::vector<LayerKind> kinds;
  std::vector<int> cuts;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, std::vector<LayerKind> kinds, auto change,
                       std::vector<int> cuts = {}) {
    ModelConfig model = small_model();
    change(model);
    all.push_back({name, model, std::move(kinds), std::move(cuts)});
  };
  add("moe", {Moe, Moe}, [](ModelConfig&) {});
  add("dense", {Dense, Dense}, [](ModelConfig& m) { m.num_experts = 0; });
  add("dense_first_noop_and_shared_expert", {Dense, Noop, Moe},
      [](ModelConfig& m) { m.moe_shared_expert_intermediate_size = 20; });
  add("losses", {Moe, Moe}, [](ModelConfig& m) {
    m.moe_aux_loss_coeff = 0.7;
    m.moe_z_loss_coeff = 0.3;
    m.moe_shared_expert_intermediate_size = 8;
  });
  add("pre_softmax_top3_with_losses", {Moe}, [](ModelConfig& m) {
    m.moe_router_pre_softmax = true;
    m.moe_router_topk = 3;
    m.moe_aux_loss_coeff = 0.5;
    m.moe_z_loss_coeff = 0.1;
  });
  add("tied", {Moe}, [](ModelConfig& m) { m.untie_embeddings_and_output_weights = false; });
  add("all_heads_own_kv_and_wide_heads", {Moe}, [](ModelConfig& m) {
    m.num_query_groups = 0;
    m.kv_channels = 6;
    m.rotary_base = 500.0;
  });
  add("three_stages_tied", {Dense, Moe},
      [](ModelConfig& m) {
        m.untie_embeddings_and_output_weights = false;
        m.moe_aux_loss_coeff = 0.5;
      },
      {1, 2});
  add("embedding_and_head_alone", {Moe}, [](ModelConfig&) {}, {0, 1});
  add("identity_stage", {Moe, Noop, Moe}, [](ModelConfig&) {}, {1, 2});
  return all;
}

class AgainstPlainModel : public ::testing::TestWithParam<Case> {};

TEST_P(AgainstPlainModel, LossAndEveryGradientAgreeInDouble) {
  const Case& c = GetParam();
  const Weights weights = random_weights(c.model, c.kinds, 3, 0.2);
  const std::vector<PlainBatch> batches = random_batches(c.model, 3);
  const PlainResult expected = plain_model(c.model, c.kinds, weights, batches);

  SequentialModel engine(c.model, c.kinds, at::kDouble, at::kDouble, c.cuts);
  engine.load(weights);
  engine.run_step(batches);

  EXPECT_TRUE(engine.is_idle());
  EXPECT_NEAR(engine.loss(), expected.loss, 1e-12);
  EXPECT_NEAR(engine.aux_loss(), expected.aux_loss, 1e-12);
  const Weights gradients = engine.gradients();
  ASSERT_EQ(gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_LT(relative_difference(gradients.at(name), gradient), 1e-10) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AgainstPlainModel, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

Case all_features() {
  ModelConfig model = small_model();
  model.moe_aux_loss_coeff = 0.7;
  model.moe_z_loss_coeff = 0.3;
  model.moe_shared_expert_intermediate_size = 8;
  return {"all", model, {Dense, Moe, Moe}, {}};
}

TEST(StageRunner, OneElementOfEveryGradientAgreesWithCentralDifferences) {
  Case c = all_features();
  c.model.moe_aux_loss_coeff = 0;  // its share of choices is a step function
  Weights weights = random_weights(c.model, c.kinds, 3, 0.2);
  const std::vector<PlainBatch> batches = random_batches(c.model, 2);
  SequentialModel engine(c.model, c.kinds, at::kDouble, at::kDouble);
  engine.load(weights);
  engine.run_step(batches);
  const auto objective = [&] {
    engine.load(weights);
    engine.begin_step(batches, /*grad=*/false);
    for (int i = 0; i < 2; ++i) {
      for (const Segment& segment : engine.forward_segments(MicroBatch(i))) {
        engine.run_forward(segment);
      }
    }
    EXPECT_TRUE(engine.is_idle());
    return engine.loss() + engine.aux_loss();
  };
  const double step = 1e-5;
  for (const auto& [name, gradient] : engine.gradients()) {
    const std::int64_t index = gradient.abs().argmax().item<std::int64_t>();
    at::Tensor element = weights.at(name).view(-1)[index];
    const double value = element.item<double>();
    element.fill_(value + step);
    const double above = objective();
    element.fill_(value - step);
    const double below = objective();
    element.fill_(value);
    const double measured = (above - below) / (2 * step);
    EXPECT_NEAR(gradient.reshape(-1)[index].item<double>(), measured,
                1e-6 * std::abs(measured) + 1e-8)
        << name;
  }
}

TEST(StageRunner, AnExpertWithoutTokensHasZeroGradients) {
  Case c = all_features();
  c.kinds = {Moe};
  Weights weights = random_weights(c.model, c.kinds, 3, 0.2);
  // The norm's output has a large first element for every token, which expert 0 cannot get past.
  weights.at("model.embed_tokens.weight").select(1, 0).fill_(20);
  weights.at("model.layers.0.mlp.gate.weight")[0][0] = -50;
  const std::vector<PlainBatch> batches = random_batches(c.model, 2);
  const PlainResult expected = plain_model(c.model, c.kinds, weights, batches);
  SequentialModel engine(c.model, c.kinds, at::kDouble, at::kDouble);
  engine.load(weights);
  engine.run_step(batches);
  const Weights gradients = engine.gradients();
  for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string name = std::string("model.layers.0.mlp.experts.0.") + part + ".weight";
    EXPECT_EQ(gradients.at(name).abs().sum().item<double>(), 0) << name;
  }
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_LT(relative_difference(gradients.at(name), gradient), 1e-10) << name;
  }
}

Weights gradients_in_order(const Case& c, at::ScalarType compute_type,
                           const std::function<void(SequentialModel&)>& run, int micro_batches) {
  const Weights weights = random_weights(c.model, c.kinds, 3, 0.2);
  SequentialModel engine(c.model, c.kinds, at::kFloat, compute_type, c.cuts);
  engine.load(weights);
  engine.store().zero_grad();
  engine.begin_step(random_batches(c.model, micro_batches));
  run(engine);
  EXPECT_TRUE(engine.is_idle());
  return engine.gradients();
}

void run_sequentially(SequentialModel& engine) {
  for (int i = 0; i < 3; ++i) {
    for (const Segment& s : engine.forward_segments(MicroBatch(i))) engine.run_forward(s);
    for (const Segment& s : engine.backward_segments(MicroBatch(i))) {
      engine.run_dgrad(s);
      engine.run_wgrad(s);
    }
  }
}

// Forward of micro-batch i + 1 woven with the backward of i; all W's at the end.
void run_woven(SequentialModel& engine) {
  std::vector<Segment> pending;
  for (const Segment& s : engine.forward_segments(MicroBatch(0))) engine.run_forward(s);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Segment> backward = engine.backward_segments(MicroBatch(i));
    const std::vector<Segment> forward =
        i < 2 ? engine.forward_segments(MicroBatch(i + 1)) : std::vector<Segment>();
    for (std::size_t j = 0; j < backward.size(); ++j) {
      if (j < forward.size()) engine.run_forward(forward[j]);
      engine.run_dgrad(backward[j]);
      pending.push_back(backward[j]);
    }
  }
  EXPECT_FALSE(engine.wgrads().empty());
  for (const Segment& segment : pending) engine.run_wgrad(segment);
}

TEST(StageRunner, WeavingAndPuttingOffDoNotChangeABit) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Weights plain = gradients_in_order(all_features(), type, run_sequentially, 3);
    const Weights woven = gradients_in_order(all_features(), type, run_woven, 3);
    Case cut = all_features();
    cut.cuts = {1, 2};
    const Weights stages = gradients_in_order(cut, type, run_woven, 3);
    for (const auto& [name, gradient] : plain) {
      EXPECT_TRUE(at::equal(gradient, woven.at(name))) << name;
      EXPECT_TRUE(at::equal(gradient, stages.at(name))) << name;
    }
  }
}

TEST(StageRunner, LowPrecisionComputeStaysNearDouble) {
  Case c = all_features();
  c.model.moe_router_topk = 4;  // all experts: rounding cannot change the choice
  const std::vector<PlainBatch> batches = random_batches(c.model, 3);
  const PlainResult expected =
      plain_model(c.model, c.kinds, random_weights(c.model, c.kinds, 3, 0.2), batches);
  const Weights fp32 = gradients_in_order(c, at::kFloat, run_sequentially, 3);
  const Weights bf16 = gradients_in_order(c, at::kBFloat16, run_sequentially, 3);
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_EQ(bf16.at(name).scalar_type(), at::kFloat);
    EXPECT_LT(relative_difference(fp32.at(name), gradient), 1e-4) << name;
    EXPECT_LT(relative_difference(bf16.at(name), gradient), 0.05) << name;  // 8 bits of mantissa
  }
}

// One all-to-all between ranks that each hold a part of the experts.
void exchange(std::deque<SequentialModel>& ranks, WireKind kind, const Segment& segment) {
  const Wire wire{kind, segment.stage, segment.layer, segment.micro_batch};
  std::vector<std::vector<at::Tensor>> received(ranks.size());
  for (SequentialModel& rank : ranks) {
    StageRunner& stage = rank.stage_of(segment);
    const std::vector<at::Tensor> parts =
        at::split_with_sizes(stage.source(wire), stage.splits(wire).input, 0);
    for (std::size_t to = 0; to < ranks.size(); ++to) received[to].push_back(parts[to]);
  }
  for (std::size_t to = 0; to < ranks.size(); ++to) {
    StageRunner& stage = ranks[to].stage_of(segment);
    const Splits splits = stage.splits(wire);
    for (std::size_t from = 0; from < ranks.size(); ++from) {
      EXPECT_EQ(received[to][from].size(0), splits.output[from]);
    }
    stage.deliver(wire, at::cat(received[to]));
  }
  for (SequentialModel& rank : ranks) rank.stage_of(segment).release(wire);
}

// All ranks in lockstep, one micro-batch each.
void run_lockstep(std::deque<SequentialModel>& ranks) {
  for (const Segment& segment : ranks[0].forward_segments(MicroBatch(0))) {
    for (const WireKind kind : ranks[0].wires_before(segment, true)) {
      exchange(ranks, kind, segment);
    }
    for (SequentialModel& rank : ranks) rank.stage_of(segment).run_forward(segment);
  }
  for (const Segment& segment : ranks[0].backward_segments(MicroBatch(0))) {
    for (const WireKind kind : ranks[0].wires_before(segment, false)) {
      exchange(ranks, kind, segment);
    }
    for (SequentialModel& rank : ranks) {
      if (segment.kind != SegmentKind::Embedding) rank.stage_of(segment).run_dgrad(segment);
      rank.run_wgrad(segment);
    }
  }
}

class ExpertParallel : public ::testing::TestWithParam<bool> {};

TEST_P(ExpertParallel, GradientsSummedOverRanksAgreeInDouble) {
  const bool starve_last_rank = GetParam();
  const Case c = all_features();
  Weights weights = random_weights(c.model, c.kinds, 3, 0.2);
  if (starve_last_rank) {
    weights.at("model.embed_tokens.weight").select(1, 0).fill_(20);
    weights.at("model.layers.1.mlp.gate.weight").slice(0, 2).select(1, 0).fill_(-50);
  }
  const std::vector<PlainBatch> batches = random_batches(c.model, 2);
  const PlainResult expected = plain_model(c.model, c.kinds, weights, batches);

  std::deque<SequentialModel> ranks;  // stages refer to their rank: it must not move
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back(c.model, c.kinds, at::kDouble, at::kDouble, c.cuts, ExpertShard{rank, 2});
    ranks.back().load(weights);
    ranks.back().begin_step({batches[static_cast<std::size_t>(rank)]}, true,
                            counted_labels(batches), 2);
  }
  run_lockstep(ranks);

  EXPECT_NEAR(ranks[0].loss() + ranks[1].loss(), expected.loss, 1e-12);
  EXPECT_NEAR(ranks[0].aux_loss() + ranks[1].aux_loss(), expected.aux_loss, 1e-12);
  Weights sum = ranks[0].gradients();
  for (const auto& [name, gradient] : ranks[1].gradients()) {
    sum[name] = sum.contains(name) ? sum[name] + gradient : gradient;
  }
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_LT(relative_difference(sum.at(name), gradient), 1e-10) << name;
  }
  if (starve_last_rank) {
    EXPECT_EQ(sum.at("model.layers.1.mlp.experts.3.up_proj.weight").norm().item<double>(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Router, ExpertParallel, ::testing::Bool(), [](const auto& one) {
  return one.param ? "sends_nothing_to_the_last_rank" : "sends_everywhere";
});

TEST(StageRunner, RanksAsThreadsGetTheBitsOfOneAlone) {
  const Weights alone = gradients_in_order(all_features(), at::kFloat, run_sequentially, 3);
  std::vector<Weights> found(4);
  std::vector<std::thread> threads;
  for (Weights& mine : found) {
    threads.emplace_back([&mine] {
      at::set_num_threads(1);
      mine = gradients_in_order(all_features(), at::kFloat, run_woven, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Weights& mine : found) {
    for (const auto& [name, gradient] : alone) {
      EXPECT_TRUE(at::equal(gradient, mine.at(name))) << name;
    }
  }
}

TEST(StageRunner, ASentTensorGoesWithItsRelease) {
  const Case c = all_features();
  SequentialModel engine(c.model, c.kinds, at::kFloat, at::kFloat);
  engine.load(random_weights(c.model, c.kinds, 3, 0.2));
  engine.begin_step(random_batches(c.model, 1));
  for (const Segment& segment : engine.forward_segments(MicroBatch(0))) {
    engine.run_forward(segment);
    if (segment != Segment{SegmentKind::Attention, Stage(0), 1, MicroBatch(0)}) continue;
    const Wire dispatch{WireKind::Dispatch, Stage(0), 1, MicroBatch(0)};
    const at::Tensor sent = engine.stage(0).source(dispatch);
    EXPECT_EQ(sent.storage().use_count(), 1U);  // `sent` is the stored tensor; the graph has none
  }
}

TEST(StageRunner, LogitsAreKeptOnRequest) {
  Case c = all_features();
  const std::vector<PlainBatch> batches = random_batches(c.model, 1);
  SequentialModel engine(c.model, c.kinds, at::kDouble, at::kDouble);
  engine.load(random_weights(c.model, c.kinds, 3, 0.2));
  engine.stage(0).keep_logits();
  engine.begin_step(batches, /*grad=*/false);
  for (const Segment& s : engine.forward_segments(MicroBatch(0))) engine.run_forward(s);
  const at::Tensor logits = engine.stage(0).logits(MicroBatch(0));
  EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, c.model.seq_length, c.model.vocab_size}));
  const at::Tensor loss =
      at::nll_loss_nd(at::log_softmax(logits.flatten(0, 1), -1), batches[0].labels.flatten(), {},
                      at::Reduction::Mean, -100);
  EXPECT_NEAR(engine.loss(), loss.item<double>(), 1e-12);
}

}  // namespace
}  // namespace weft::testing
