// Features of the original that Weft does not have: their flags are known and refused.
#include "config/flag.h"
#include "config/rules.h"

namespace weft {
namespace {

struct AbsentFeature {
  std::string_view flag;  // also the name of the rule
  std::string_view original;
  std::string_view message;
};

constexpr AbsentFeature kAbsent[] = {
    {"moe-token-dispatcher-type", "not with allgather or alltoall_seq under the overlap",
     "`alltoall` is the only dispatcher, with and without overlap; leave the flag out"},
    {"expert-tensor-parallel-size", "must be 1 under the overlap",
     "experts are not split over tensor ranks; give 1 and use --expert-model-parallel-size"},
    {"context-parallel-size", "must be 1 under DualPipeV",
     "there is no context parallelism; give 1 and use --pipeline-model-parallel-size"},
    {"moe-alltoall-overlap-comm", "not with --moe-fb-overlap",
     "there is no overlap within one micro-batch's layer; use --moe-fb-overlap"},
    {"moe-hierarchical-alltoallv", "not with --moe-fb-overlap",
     "tokens travel by one all-to-all per expert group; use --moe-fb-overlap"},
    {"moe-zero-memory-num-layers", "not with --moe-fb-overlap",
     "there is no zero-memory by number of layers; leave it out"},
    {"use-nanopipe", "not with --moe-fb-overlap",
     "use --schedules-method dualpipev, which splits backwards too"},
    {"automated-pipeline", "not with --moe-fb-overlap",
     "give the split of layers with --pipeline-model-parallel-layout"},
    {"recompute-in-bubble", "not with --moe-fb-overlap",
     "there is no recomputation in bubbles; leave it out"},
    {"recompute-in-advance", "not with --moe-fb-overlap",
     "there is no recomputation ahead of time; leave it out"},
    {"use-legacy-models", "not with --moe-fb-overlap",
     "there is one kind of model; leave the flag out"},
    {"moe-tp-extend-ep", "not with --moe-fb-overlap",
     "expert groups are neighbouring data parallel ranks; use --expert-model-parallel-size"},
    {"swap-attention", "not with DualPipeV or --moe-fb-overlap",
     "there is no swapping of attention; leave it out"},
    {"use-custom-fsdp", "not with DualPipeV",
     "parameters are not sharded over data parallel ranks; leave it out"},
    {"tp-2d", "not with DualPipeV", "there is no 2-D tensor parallelism; leave it out"},
    {"fp16", "", "there is no FP16 with loss scaling; use --bf16"},
};

template <std::size_t index>
RuleBreak check_absent(const RuleInput& input) {
  const AbsentFeature& feature = kAbsent[index];
  const auto at = input.request.sources.find(feature.flag);
  if (at == input.request.sources.end()) return {};
  const NoField& field = std::get<NoField>(find_flag(feature.flag)->field);
  const std::string& text = at->second.text;
  const bool asks_nothing = field.takes_value ? text == field.neutral : text == "false";
  if (asks_nothing) return {};
  return {input.request.found(feature.flag), std::string(feature.message)};
}

template <std::size_t... index>
std::vector<Rule> make_rules(std::index_sequence<index...>) {
  return {Rule{kAbsent[index].flag, "absent features",
               kAbsent[index].original.empty() ? Verdict::Own : Verdict::Kept,
               kAbsent[index].original, kAbsent[index].flag, check_absent<index>}...};
}

}  // namespace

std::vector<Rule> absent_feature_rules() {
  return make_rules(std::make_index_sequence<std::size(kAbsent)>());
}

}  // namespace weft
