#include "config/from_megatron.h"

#include <vector>

#include "base/columns.h"
#include "base/names.h"
#include "config/flag.h"
#include "config/script_flags.h"

namespace weft {
namespace {

constexpr std::size_t kPageWidth = 100;

constexpr auto kIntroduction = R"(# From a launch script of Megatron or MindSpeed

Give `weft plan` the flags that stand behind `pretrain_gpt.py`. It says for every one whether it
means the same here, is accepted without effect, or is refused, with the reason and what to use
instead; all that is refused at once. `weft train` takes the same flags.

This page is made from the table of flags: `cmake --build build --target from_megatron_page`. Names
and defaults are those of Megatron-LM's `megatron/training/arguments.py`, MindSpeed's
`mindspeed/features_manager` and MindSpeed-LLM's `mindspeed_llm/training/arguments.py`.

Words are read as Megatron reads them: `--flag value` or `--flag=value`; a flag that takes several
values takes all words up to the next flag; a word with a dash before it is a flag unless it is a
number; names are not cut short. Besides, `_` may stand for `-`, a switch may be turned off by
`--flag=false`, and a flag that is given twice has to have the same value twice (Megatron takes the
last one). What belongs to `torchrun` (`--nproc_per_node` and so on) stays with `torchrun`.
)";

// Where leaving a flag out is not the same. From the sources named above.
constexpr struct {
  std::string_view flag;
  std::string_view megatron;
  std::string_view weft;
} kLeftOut[] = {
    {"--swiglu", "GELU, not gated", "gated SiLU"},
    {"--disable-bias-linear", "linear layers have biases", "no biases"},
    {"--normalization", "LayerNorm", "RMSNorm"},
    {"--position-embedding-type", "a table of learned positions", "rotary"},
    {"--attention-dropout, --hidden-dropout", "0.1", "0"},
    {"--group-query-attention", "--num-query-groups is not looked at", "it counts"},
    {"--num-query-groups", "1 with --group-query-attention", "as many as attention heads"},
    {"--make-vocab-size-divisible-by", "the vocabulary is padded to a multiple of 128",
     "no padding"},
    {"--init-method-std",
     "0.02, divided by sqrt(2 layers) for the matrices that write to the "
     "residual",
     "0.02 for all matrices"},
    {"--moe-token-dispatcher-type", "allgather", "alltoall, with the same result"},
    {"--expert-tensor-parallel-size", "--tensor-model-parallel-size", "1"},
    {"--moe-router-dtype", "the type of compute", "that of the main weights"},
    {"--lr", "none", "0.0003"},
    {"--lr-decay-style", "linear", "cosine"},
    {"--eval-interval, --eval-iters", "1000, 100", "never, 10"},
    {"--global-batch-size", "micro-batch size times data parallel size",
     "has to follow from "
     "--num-microbatches"},
    {"--micro-batch-size", "none", "1"},
    {"--calculate-per-token-loss", "the mean over micro-batches of each one's mean",
     "the mean over all counted labels"},
    {"--schedules-method dualpipev", "MindSpeed turns --moe-fb-overlap on with it",
     "only --moe-fb-overlap turns it on"},
};

// Flags of Megatron or MindSpeed that Weft has under the same name.
constexpr std::string_view kShared[] = {"num-layers",
                                        "hidden-size",
                                        "ffn-hidden-size",
                                        "num-attention-heads",
                                        "num-query-groups",
                                        "kv-channels",
                                        "seq-length",
                                        "vocab-size",
                                        "rotary-base",
                                        "norm-epsilon",
                                        "init-method-std",
                                        "untie-embeddings-and-output-weights",
                                        "noop-layers",
                                        "first-k-dense-replace",
                                        "moe-layer-freq",
                                        "num-experts",
                                        "moe-router-topk",
                                        "moe-router-pre-softmax",
                                        "moe-ffn-hidden-size",
                                        "moe-shared-expert-intermediate-size",
                                        "moe-aux-loss-coeff",
                                        "moe-z-loss-coeff",
                                        "moe-router-score-function",
                                        "moe-router-load-balancing-type",
                                        "moe-router-num-groups",
                                        "moe-router-group-topk",
                                        "moe-router-topk-scaling-factor",
                                        "moe-router-enable-expert-bias",
                                        "moe-router-bias-update-rate",
                                        "moe-expert-capacity-factor",
                                        "mtp-num-layers",
                                        "mtp-loss-scaling-factor",
                                        "tensor-model-parallel-size",
                                        "pipeline-model-parallel-size",
                                        "expert-model-parallel-size",
                                        "num-virtual-stages-per-pipeline-rank",
                                        "num-layers-per-virtual-pipeline-stage",
                                        "microbatch-group-size-per-virtual-pipeline-stage",
                                        "pipeline-model-parallel-layout",
                                        "pipeline-num-transformer-layers",
                                        "decoder-first-pipeline-num-layers",
                                        "decoder-last-pipeline-num-layers",
                                        "schedules-method",
                                        "dualpipev-dw-detach",
                                        "moe-fb-overlap",
                                        "moe-unperm2-mem-optim-swap",
                                        "moe-zero-memory",
                                        "recompute-granularity",
                                        "recompute-method",
                                        "recompute-num-layers",
                                        "recompute-activation-function",
                                        "recompute-norm",
                                        "overlap-grad-reduce",
                                        "global-batch-size",
                                        "micro-batch-size",
                                        "train-iters",
                                        "lr",
                                        "min-lr",
                                        "lr-warmup-iters",
                                        "lr-decay-iters",
                                        "weight-decay",
                                        "clip-grad",
                                        "adam-beta1",
                                        "adam-beta2",
                                        "adam-eps",
                                        "seed",
                                        "bf16",
                                        "eval-interval",
                                        "eval-iters",
                                        "data-path",
                                        "split",
                                        "save",
                                        "save-interval",
                                        "load",
                                        "tokenizer-type"};

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string flag_code(std::string_view name) { return code("--" + std::string(name)); }

std::string shared_flags(bool built) {
  std::vector<std::string> names;
  for (const std::string_view name : kShared) {
    const Flag* flag = find_flag(name);
    if (flag == nullptr) continue;
    const bool is_built = flag->traits.status != FlagStatus::NotYet;
    if (is_built == built) names.push_back(flag_code(name));
  }
  return names.empty() ? "none\n" : indented(join(names), 0, kPageWidth);
}

std::string values_of(Takes takes) {
  switch (takes) {
    case Takes::Nothing:
      return "";
    case Takes::Value:
      return "a value";
    case Takes::OneOrMore:
    case Takes::AnyNumber:
      return "values";
  }
  return "";
}

std::string here(const ScriptFlag& row) {
  const std::string unless =
      row.neutral.empty() ? "" : code(row.neutral) + " is the same; another value is ";
  switch (row.status) {
    case FlagStatus::Built:
      return "sets another flag";
    case FlagStatus::Same:
      return unless.empty() ? "the same" : unless + "refused";
    case FlagStatus::NotYet:
      return unless + "not built yet";
    case FlagStatus::Refused:
      return unless + "refused";
    case FlagStatus::NoEffect:
      return "no effect";
  }
  return "";
}

std::string table_of(const ScriptFlagGroup& group) {
  std::string text = "\n### " + std::string(group.heading) +
                     "\n\n| flag | takes | here | why, or what to use |\n|---|---|---|---|\n";
  for (const ScriptFlag& row : group.flags) {
    text += "| " + flag_code(row.name) + " | " + values_of(row.takes) + " | " + here(row) + " | " +
            std::string(row.note) + " |\n";
  }
  return text;
}

}  // namespace

std::string from_megatron_page() {
  std::string text = kIntroduction;
  text +=
      "\n## Where leaving a flag out is not the same\n\n| flag | there | here |\n|---|---|---|\n";
  for (const auto& row : kLeftOut) {
    text += "| " + std::string(row.flag) + " | " + std::string(row.megatron) + " | " +
            std::string(row.weft) + " |\n";
  }
  text += "\n## Flags of the same name\n\n" + shared_flags(true) + "\nNot built yet: refused " +
          "unless they ask for nothing:\n\n" + shared_flags(false);
  text += "\n## Other flags of launch scripts\n";
  for (const auto& groups : {model_script_flags(), run_script_flags()}) {
    for (const ScriptFlagGroup& group : groups) text += table_of(group);
  }
  return text;
}

}  // namespace weft
