// Flags of real launch scripts: what becomes of each, and that no word of a line is misread.
#include "config/script_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "config/request.h"

namespace weft {
namespace {

using testing::IsEmpty;

struct Pasted {
  Request request;
  std::set<std::string> refused;  // rules, what is not built yet left out
};

Pasted paste(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> arguments;
  for (std::string word; stream >> word;) arguments.push_back(word);
  Pasted pasted;
  std::vector<Violation> violations;
  pasted.request = read_request(Verb::Plan, arguments, {}, violations);
  for (const Violation& violation : violations) {
    if (violation.rule != "not-built-yet") pasted.refused.insert(violation.rule);
  }
  return pasted;
}

// Flags and values as in Megatron-LM examples/mixtral/train_mixtral_8x7b_distributed.sh, with the
// sizes of the published model.
TEST(ScriptFlags, MixtralOfMegatron) {
  const Pasted pasted = paste(
      "--use-mcore-models --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 "
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--init-method-std 0.01 --attention-dropout 0.0 --hidden-dropout 0.0 "
      "--normalization RMSNorm --position-embedding-type rope --swiglu "
      "--untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8 "
      "--no-masked-softmax-fusion --no-position-embedding --rotary-base 1000000 "
      "--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss "
      "--moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall "
      "--overlap-param-gather --tokenizer-type Llama2Tokenizer --tokenizer-model t.model "
      "--data-path text --split 99990,8,2 --micro-batch-size 1 --global-batch-size 256 --lr 1e-4 "
      "--train-iters 500000 --lr-decay-iters 320000 --lr-decay-style cosine --min-lr 1.0e-5 "
      "--weight-decay 0.1 --lr-warmup-iters 500 --clip-grad 1.0 --bf16 "
      "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "
      "--expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel "
      "--log-interval 1 --save-interval 10000 --eval-interval 1000 --eval-iters 10 --save a "
      "--tensorboard-dir b --no-load-optim --no-load-rng --wandb-project Mixtral "
      "--wandb-exp-name Mixtral_8x7B");
  EXPECT_THAT(pasted.refused, IsEmpty());
  EXPECT_EQ(pasted.request.config.model.ffn_hidden_size, 14336);
  EXPECT_EQ(pasted.request.config.train.params_dtype, "bf16");
  EXPECT_EQ(pasted.request.config.train.lr_decay_iters, 320000);
  EXPECT_EQ(pasted.request.config.data.tokenizer_type, "bytes");
}

// As MindSpeed-LLM examples/mcore/qwen3_moe/pretrain_qwen3_235b_a22b_4k_A3_ptd.sh.
TEST(ScriptFlags, Qwen3OfMindSpeed) {
  const Pasted pasted = paste(
      "--kv-channels 128 --use-mcore-models --tokenizer-name-or-path t "
      "--max-position-embeddings 4096 --noop-layers 94,95 --num-layers 96 --hidden-size 4096 "
      "--ffn-hidden-size 8192 --num-attention-heads 64 --tokenizer-type PretrainedFromHF "
      "--make-vocab-size-divisible-by 1 --padded-vocab-size 151936 --rotary-base 1000000 "
      "--untie-embeddings-and-output-weights --disable-bias-linear --position-embedding-type rope "
      "--normalization RMSNorm --swiglu --attention-softmax-in-fp32 --group-query-attention "
      "--num-query-groups 4 --no-shared-storage --data-path d --split 100,0,0 "
      "--num-experts 128 --moe-router-topk 8 --moe-intermediate-size 1536 "
      "--moe-ffn-hidden-size 1536 --moe-router-load-balancing-type aux_loss --norm-topk-prob "
      "--moe-grouped-gemm --moe-token-dispatcher-type alltoall_seq --moe-aux-loss-coeff 0.001 "
      "--moe-permutation-async-comm --moe-alltoall-overlap-comm --moe-tp-extend-ep "
      "--log-interval 1 --save-interval 2000 --eval-interval 2000 --eval-iters 0 --no-load-optim "
      "--no-load-rng --use-flash-attn --use-fused-rotary-pos-emb "
      "--use-rotary-position-embeddings --use-fused-swiglu --use-fused-rmsnorm "
      "--no-masked-softmax-fusion --use-distributed-optimizer "
      "--gemm-gradient-accumulation-fusion --reuse-fp32-param --overlap-grad-reduce "
      "--overlap-param-gather --micro-batch-size 1 --global-batch-size 1024 --lr 1.25e-6 "
      "--lr-decay-style cosine --min-lr 1.25e-7 --weight-decay 1e-1 --lr-warmup-fraction 0.01 "
      "--attention-dropout 0.0 --init-method-std 0.01 --hidden-dropout 0.0 --clip-grad 1.0 "
      "--adam-beta1 0.9 --adam-beta2 0.95 --initial-loss-scale 4096 --seed 42 --bf16 "
      "--train-iters 2000 --seq-length 4096 --no-shared-storage --recompute-granularity full "
      "--recompute-method block --recompute-num-layers 8 --tensor-model-parallel-size 2 "
      "--pipeline-model-parallel-size 4 --expert-model-parallel-size 32 "
      "--context-parallel-size 1 --context-parallel-algo megatron_cp_algo "
      "--num-layers-per-virtual-pipeline-stage 8 --sequence-parallel --load l --save s "
      "--distributed-backend nccl");
  EXPECT_EQ(pasted.refused, (std::set<std::string>{"moe-token-dispatcher-type", "moe-tp-extend-ep",
                                                   "moe-alltoall-overlap-comm"}));
  EXPECT_EQ(pasted.request.config.model.vocab_size, 151936);
  EXPECT_EQ(pasted.request.config.train.lr_warmup_iters, 20);
  EXPECT_EQ(pasted.request.config.schedule.num_layers_per_virtual_pipeline_stage, 8);
}

// As Megatron-LM docs/discussions/megatron-fsdp-user-guide/example-scripts, DeepSeek-V3.
TEST(ScriptFlags, DeepSeekV3OfMegatron) {
  const Pasted pasted = paste(
      "--distributed-timeout-minutes 60 --tensor-model-parallel-size 1 "
      "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --context-parallel-size 1 "
      "--use-distributed-optimizer --overlap-param-gather --use-mcore-models --sequence-parallel "
      "--use-flash-attn --disable-bias-linear --micro-batch-size 4 --global-batch-size 2048 "
      "--train-samples 585937500 --exit-duration-in-mins 220 --no-check-for-nan-in-loss-and-grad "
      "--manual-gc --manual-gc-interval 10 --recompute-granularity selective "
      "--recompute-modules mlp moe mla_up_proj layernorm --transformer-impl transformer_engine "
      "--seq-length 4096 --data-cache-path c --tokenizer-type HuggingFaceTokenizer "
      "--tokenizer-model t --data-path d --split 99,1,0 --no-mmap-bin-files "
      "--no-create-attention-mask-in-dataloader --num-workers 6 --num-layers 61 "
      "--hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 "
      "--max-position-embeddings 4096 --position-embedding-type rope --rotary-base 10000 "
      "--make-vocab-size-divisible-by 3232 --normalization RMSNorm --norm-epsilon 1e-6 --swiglu "
      "--untie-embeddings-and-output-weights --multi-latent-attention --attention-dropout 0.0 "
      "--hidden-dropout 0.0 --clip-grad 1.0 --weight-decay 0.1 --qk-layernorm "
      "--lr-decay-samples 584765624 --lr-warmup-samples 1536000 --lr-warmup-init 3.9e-7 "
      "--lr 3.9e-6 --min-lr 3.9e-7 --lr-decay-style cosine --adam-beta1 0.9 --adam-beta2 0.95 "
      "--num-experts 256 --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048 "
      "--moe-shared-expert-intermediate-size 2048 --moe-router-load-balancing-type seq_aux_loss "
      "--moe-router-topk 8 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep "
      "--moe-router-pre-softmax --moe-grouped-gemm --moe-aux-loss-coeff 1e-4 "
      "--moe-router-group-topk 4 --moe-router-num-groups 8 --moe-router-topk-scaling-factor 2.5 "
      "--moe-router-score-function sigmoid --moe-router-enable-expert-bias "
      "--moe-router-bias-update-rate 1e-3 --moe-router-dtype fp32 --moe-permute-fusion "
      "--moe-router-force-load-balancing --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
      "--qk-pos-emb-head-dim 64 --v-head-dim 128 --rotary-scaling-factor 40 --mscale 1.0 "
      "--mscale-all-dim 1.0 --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1 --eval-iters 32 "
      "--eval-interval 100 --auto-detect-ckpt-format --save-interval 100 "
      "--dist-ckpt-strictness log_all --init-method-std 0.02 --log-timers-to-tensorboard "
      "--log-memory-to-tensorboard --log-num-zeros-in-grad --log-params-norm "
      "--log-validation-ppl-to-tensorboard --log-throughput --log-interval 1 --logging-level 40 "
      "--tensorboard-dir t --bf16 --enable-experimental --use-megatron-fsdp "
      "--data-parallel-sharding-strategy optim_grads_params --no-gradient-accumulation-fusion "
      "--calculate-per-token-loss --init-model-with-meta-device --ckpt-format fsdp_dtensor "
      "--grad-reduce-in-bf16 --fsdp-double-buffer --use-nccl-ub --profile --profile-step-start 10 "
      "--profile-step-end 12 --profile-ranks 0");
  EXPECT_EQ(pasted.refused,
            (std::set<std::string>{
                "train-samples", "exit-duration-in-mins", "lr-decay-samples", "lr-warmup-samples",
                "lr-warmup-init", "moe-token-dispatcher-type", "moe-router-force-load-balancing",
                "use-megatron-fsdp", "data-parallel-sharding-strategy", "grad-reduce-in-bf16"}));
  EXPECT_EQ(pasted.request.config.model.moe_layer_freq, "[0]*3+[1]*58");
  EXPECT_EQ(pasted.request.config.launch.distributed_timeout_seconds, 3600);
  EXPECT_EQ(pasted.request.sources.at("moe-flex-dispatcher-backend").text, "hybridep");
}

// As MindSpeed-LLM examples/mcore/deepseek3/pretrain_deepseek3_671b_4k_A3_ptd.sh.
TEST(ScriptFlags, DeepSeekV3OfMindSpeed) {
  const Pasted pasted = paste(
      "--spec mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec --reset-position-ids "
      "--gemm-gradient-accumulation-fusion --noop-layers 61,62,63 --manual-gc "
      "--manual-gc-interval 50 --no-shared-storage --use-distributed-optimizer --use-flash-attn "
      "--use-mcore-models --tensor-model-parallel-size 2 --pipeline-model-parallel-size 8 "
      "--expert-model-parallel-size 16 --sequence-parallel --context-parallel-size 1 "
      "--context-parallel-algo ulysses_cp_algo --num-layers 64 --hidden-size 7168 "
      "--ffn-hidden-size 18432 --num-attention-heads 128 --tokenizer-type PretrainedFromHF "
      "--tokenizer-name-or-path t --seq-length 4096 --max-position-embeddings 163840 "
      "--micro-batch-size 1 --global-batch-size 3840 --make-vocab-size-divisible-by 1 --lr 1.0e-5 "
      "--train-iters 2000 --lr-decay-style cosine --untie-embeddings-and-output-weights "
      "--disable-bias-linear --attention-dropout 0.0 --init-method-std 0.02 --hidden-dropout 0.0 "
      "--position-embedding-type rope --normalization RMSNorm --use-fused-rotary-pos-emb "
      "--use-rotary-position-embeddings --use-fused-swiglu --use-fused-rmsnorm --swiglu "
      "--no-masked-softmax-fusion --attention-softmax-in-fp32 --min-lr 1.0e-7 "
      "--weight-decay 1e-2 --lr-warmup-iters 500 --clip-grad 1.0 --adam-beta1 0.9 "
      "--adam-beta2 0.999 --initial-loss-scale 65536 --vocab-size 129280 "
      "--padded-vocab-size 129280 --rotary-base 10000 --norm-epsilon 1e-6 --no-load-optim "
      "--no-load-rng --bf16 --distributed-timeout-minutes 120 --data-path d --split 100,0,0 "
      "--log-interval 1 --save-interval 2000 --eval-interval 2000 --eval-iters 0 --no-save-optim "
      "--no-save-rng --multi-head-latent-attention --qk-rope-head-dim 64 --qk-nope-head-dim 128 "
      "--q-lora-rank 1536 --kv-lora-rank 512 --v-head-dim 128 --qk-layernorm --mla-mm-split "
      "--mla-fa-without-pad --moe-fb-overlap --schedules-method dualpipev "
      "--mtp-mem-efficient-logits --swap-optimizer --recompute-granularity full "
      "--recompute-method block --recompute-num-layers 8 --rope-scaling-beta-fast 32 "
      "--rope-scaling-beta-slow 1 --rope-scaling-factor 40 --rope-scaling-mscale 1.0 "
      "--rope-scaling-mscale-all-dim 1.0 --rope-scaling-original-max-position-embeddings 4096 "
      "--rope-scaling-type yarn --moe-grouped-gemm --moe-permutation-async-comm "
      "--moe-token-dispatcher-type alltoall_seq --first-k-dense-replace 3 --moe-layer-freq 1 "
      "--n-shared-experts 1 --num-experts 256 --moe-router-topk 8 --moe-intermediate-size 2048 "
      "--moe-ffn-hidden-size 2048 --moe-router-load-balancing-type noaux_tc --n-group 8 "
      "--topk-group 4 --routed-scaling-factor 2.5 --moe-aux-loss-coeff 0.0001 --seq-aux "
      "--norm-topk-prob --moe-router-score-function sigmoid --moe-router-enable-expert-bias "
      "--moe-tp-extend-ep --router-gating-in-fp32 --mtp-num-layers 1 "
      "--mtp-loss-scaling-factor 0.3 --save s --load l --distributed-backend nccl");
  EXPECT_EQ(pasted.refused,
            (std::set<std::string>{"reset-position-ids", "swap-optimizer", "moe-tp-extend-ep",
                                   "moe-token-dispatcher-type"}));
  EXPECT_EQ(pasted.request.config.model.moe_shared_expert_intermediate_size, 2048);
  EXPECT_EQ(pasted.request.config.model.noop_layers, "61,62,63");
  EXPECT_EQ(pasted.request.config.schedule.schedules_method, "dualpipev");
}

TEST(ScriptFlags, ANeutralValueAsksForNothing) {
  for (const char* line :
       {"--attention-dropout 0", "--attention-dropout 0.000", "--normalization RMSNorm",
        "--context-parallel-size 1", "--data-parallel-sharding-strategy no_shard", "--fp16=false",
        "--moe-zero-memory disable", "--optimizer adam"}) {
    EXPECT_THAT(paste(line).refused, IsEmpty()) << line;
  }
}

TEST(ScriptFlags, AnotherValueIsRefusedWithTheReason) {
  std::vector<Violation> violations;
  read_request(Verb::Plan,
               {"--normalization", "LayerNorm", "--attention-dropout", "0.1", "--swiglu=false",
                "--jit-compile=maybe", "--context-parallel-size", "2"},
               {}, violations);
  EXPECT_THAT(
      violations,
      testing::UnorderedElementsAre(
          Violation{"normalization", "--normalization LayerNorm",
                    "norms are RMSNorm; give RMSNorm, or leave the flag out"},
          Violation{"attention-dropout", "--attention-dropout 0.1",
                    "there is no dropout; give 0, or leave the flag out"},
          Violation{"swiglu", "--swiglu false",
                    "feed-forward layers and experts are gated by SiLU"},
          Violation{"flag-value", "--jit-compile maybe", "true or false is allowed"},
          Violation{"context-parallel-size", "--context-parallel-size 2",
                    "there is no context parallelism, use --pipeline-model-parallel-size; give 1, "
                    "or leave the flag out"}));
}

// What is refused says what to do instead.
TEST(ScriptFlags, EachHasAReasonAndEachRefusalAWayOut) {
  int count = 0;
  for (const auto& groups : {model_script_flags(), run_script_flags()}) {
    for (const ScriptFlagGroup& group : groups) {
      for (const ScriptFlag& row : group.flags) {
        ++count;
        EXPECT_FALSE(row.note.empty()) << row.name;
        if (row.status != FlagStatus::Refused || !row.neutral.empty()) continue;
        const std::string note(row.note);
        const bool says_how =
            note.find("use ") != std::string::npos || note.find("give ") != std::string::npos ||
            note.find("add ") != std::string::npos || note.find("leave ") != std::string::npos;
        EXPECT_TRUE(says_how) << row.name << ": " << note;
      }
    }
  }
  EXPECT_GE(count, 150);
}

}  // namespace
}  // namespace weft
