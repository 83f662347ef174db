#include "config/verb.h"

#include "base/error.h"
#include "base/names.h"

namespace weft {

const std::vector<VerbInfo>& verb_table() {
  static const std::vector<VerbInfo> kTable = {
      {Verb::Train,
       "train",
       "trains a model",
       "",
       "",
       {"weft train --num-layers 8 --hidden-size 256 --num-attention-heads 8 --seq-length 256 "
        "--vocab-size 256 --num-experts 8 --expert-model-parallel-size 2 "
        "--pipeline-model-parallel-size 2 --schedules-method dualpipev --moe-fb-overlap "
        "--micro-batch-size 1 --num-microbatches 8 --data-path text --train-iters 100",
        "weft train --config run.toml --load checkpoints --train-iters 200"},
       true},
      {Verb::Schedule,
       "schedule",
       "prints a schedule at one of its three levels, or draws it",
       "",
       "",
       {"weft schedule --pipeline-model-parallel-size 4 --num-microbatches 10 "
        "--schedules-method dualpipev --format text",
        "weft schedule --pipeline-model-parallel-size 4 --num-microbatches 8 "
        "--level transfers --output 1f1b.csv",
        "weft schedule --pipeline-model-parallel-size 4 --num-microbatches 8 --format svg "
        "--output 1f1b.svg"}},
      {Verb::Simulate,
       "simulate",
       "runs a schedule against a cost model",
       "",
       "",
       {"weft simulate --pipeline-model-parallel-size 4 --num-microbatches 10 "
        "--schedules-method dualpipev --dualpipev-dw-detach --format json",
        "weft simulate --pipeline-model-parallel-size 8 --num-microbatches 32 "
        "--cost-forward 2 --cost-dgrad 2 --cost-wgrad 1 --events --output events.json"}},
      {Verb::Layout,
       "layout",
       "shows which rank holds which layers",
       "pipeline-model-parallel-layout",
       "STRING",
       {"weft layout 'Ett|tt|ttt|tL' --pipeline-model-parallel-size 2",
        "weft layout --num-layers 61 --pipeline-model-parallel-size 16 --placement v"}},
      {Verb::Plan,
       "plan",
       "everything that would happen, and every broken rule, without starting",
       "",
       "",
       {"weft plan --model mixtral-8x7b --ranks 64 --pipeline-model-parallel-size 8 "
        "--expert-model-parallel-size 8 --schedules-method dualpipev --moe-fb-overlap "
        "--micro-batch-size 1 --num-microbatches 32 --bf16",
        "weft plan --model qwen3-30b-a3b --search --ranks 64 --memory-gib 80 --bf16"}},
      {Verb::Report,
       "report",
       "what a run measured, beside what was predicted",
       "",
       "",
       {"weft report --metrics run.jsonl --timeline run.json",
        "weft report --timeline run.json --costs costs.toml --format html --output report.html"}},
      {Verb::Logits,
       "logits",
       "one forward pass over given tokens, logits out",
       "",
       "",
       {},
       true,
       "`weft sample` runs a trained model"},
      {Verb::Sample,
       "sample",
       "continues a prompt from a checkpoint, in one process",
       "",
       "",
       {"weft sample --load checkpoints --prompt 'def main('"},
       true},
      {Verb::Data,
       "data",
       "prepares data: `weft data prepare`",
       "data-command",
       "prepare",
       {"weft data prepare --input text.txt --output-prefix text"},
       true},
      {Verb::Checkpoint,
       "checkpoint",
       "inspects, converts and reshards checkpoints",
       "",
       "",
       {},
       true,
       "`weft train --load` takes a checkpoint of any layout of ranks as it is"},
  };
  return kTable;
}

const VerbInfo& info_of(Verb verb) { return verb_table().at(static_cast<std::size_t>(verb)); }

const VerbInfo& find_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const VerbInfo& info : verb_table()) {
    names.emplace_back(info.name);
    if (info.name == name) return info;
  }
  throw UserError(
      Violation{"unknown-verb", "weft " + std::string(name),
                "no such verb" + did_you_mean(name, names) + "; the verbs are " + join(names)});
}

void require_built(const VerbInfo& info) {
  if (info.not_built.empty()) return;
  throw UserError(
      Violation{"not-built-yet", "weft " + std::string(info.name),
                "this verb is known but not built yet; " + std::string(info.not_built)});
}

}  // namespace weft
