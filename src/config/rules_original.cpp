// The rules of the original, MindSpeed's DualPipeV and forward/backward overlap (spec.md sections 5
// and 7), each kept or lifted.
#include "config/flag.h"
#include "config/rules.h"

namespace weft {
namespace {

RuleBreak dualpipev_no_virtual_pipeline(const RuleInput& input) {
  const std::string flag = virtual_flag(input);
  if (!is_v_schedule(method_of(input)) || flag.empty()) return {};
  return {method_found(input) + " with " + input.request.found(flag),
          "the V fixes two chunks a rank: leave --" + flag + " out"};
}

RuleBreak detach_needs_dualpipev(const RuleInput& input) {
  if (!input.config.schedule.dualpipev_dw_detach || method_of(input) == "dualpipev") return {};
  return {input.request.found("dualpipev-dw-detach") + " with " + method_found(input),
          "only DualPipeV detaches weight gradients: add --schedules-method dualpipev"};
}

RuleBreak overlap_needs_pairs(const RuleInput& input) {
  const std::string method = method_of(input);
  // On one rank these run like no-pipeline.
  if (!input.config.schedule.moe_fb_overlap || has_pairs(method) || ranks_of(input) == 1) return {};
  return {input.request.found("moe-fb-overlap") + " with " + method_found(input) + " on " +
              std::to_string(ranks_of(input)) + " pipeline ranks",
          method +
              " has no forward and backward to weave: use --schedules-method dualpipev, or "
              "interleaved with --num-virtual-stages-per-pipeline-rank 2"};
}

RuleBreak swap_needs_overlap(const RuleInput& input) {
  const auto swap = input.request.sources.find("moe-unperm2-mem-optim-swap");
  if (swap == input.request.sources.end() || !is_on(swap->second.text)) return {};
  if (input.config.schedule.moe_fb_overlap) return {};
  return {input.request.found("moe-unperm2-mem-optim-swap") + " without --moe-fb-overlap",
          "the swap runs under the overlap: add --moe-fb-overlap or leave the swap out"};
}

RuleBreak layout_excludes(const RuleInput& input) {
  if (input.config.schedule.pipeline_model_parallel_layout.empty()) return {};
  std::string flag = virtual_flag(input);
  for (const char* other : {"pipeline-num-transformer-layers", "decoder-first-pipeline-num-layers",
                            "decoder-last-pipeline-num-layers"}) {
    if (flag.empty() && input.request.given(other)) flag = other;
  }
  if (flag.empty()) return {};
  return {
      input.request.found("pipeline-model-parallel-layout") + " and " + input.request.found(flag),
      "the layout string already fixes the stages: leave --" + flag + " out"};
}

constexpr auto kV = "DualPipeV";
constexpr auto kOverlap = "overlap";
constexpr auto kLayout = "layout";

using Check = RuleBreak (*)(const RuleInput&);

Rule kept(std::string_view name, std::string_view feature, std::string_view original,
          std::string_view weft, std::string_view flags, Check check) {
  return {name, feature, Verdict::Kept, original, flags, check, ~0U, weft};
}

// Kept by a flag that is known and refused (script_flags.cpp).
Rule no_such(std::string_view flag, std::string_view feature, std::string_view original,
             std::string_view weft) {
  return {flag, feature, Verdict::Kept, original, "", nullptr, ~0U, weft};
}

Rule lifted(std::string_view name, std::string_view feature, std::string_view original,
            std::string_view weft) {
  return {name, feature, Verdict::Lifted, original, "", nullptr, ~0U, weft};
}

}  // namespace

std::vector<Rule> original_rules() {
  return {
      lifted("dualpipev-one-rank", kV, "more than one pipeline rank",
             "a V of two chunks on one rank"),
      kept("dualpipev-no-virtual-pipeline", kV, "no virtual pipeline flags",
           "refused: the V fixes two chunks a rank", kCutFlags, dualpipev_no_virtual_pipeline),
      lifted("dualpipev-layers", kV, "at least 2P layers, a multiple of 2P",
             "stages may be uneven or without layers"),
      lifted("dualpipev-micro-batches", kV, "at least 2P - 1 micro-batches",
             "any number from 1 up: built for the next that fits, what does not exist dropped"),
      lifted("dualpipev-untied-embeddings", kV, "untied embeddings",
             "tied as well: both ends of the V are on rank 0"),
      lifted("dualpipev-layout", kV, "no layout string", "any layout string of 2P stages"),
      lifted("dualpipev-grad-reduce", kV, "no --overlap-grad-reduce",
             "a reduction is a wire that starts after a bucket's last weight gradient"),
      no_such("context-parallel-size", kV, "no context parallelism", "refused: there is none"),
      no_such("swap-attention", "DualPipeV, overlap", "no --swap-attention",
              "refused: there is none"),
      no_such("use-custom-fsdp", kV, "no custom FSDP", "refused: there is none"),
      no_such("tp-2d", kV, "no 2-D tensor parallelism", "refused: there is none"),

      kept("detach-needs-dualpipev", "dW detach", "not checked: without DualPipeV it does nothing",
           "refused without DualPipeV", kCutFlags, detach_needs_dualpipev),

      kept("overlap-needs-pairs", kOverlap,
           "with several pipeline ranks only under DualPipeV or a virtual pipeline",
           "refused under a schedule without pairs; runs under auto and a CSV with pairs too",
           kCutFlags, overlap_needs_pairs),
      lifted("overlap-grouped-gemm", kOverlap, "needs --moe-grouped-gemm",
             "experts are always grouped products; the flag is accepted"),
      lifted("overlap-expert-ranks", kOverlap, "more than one expert parallel rank",
             "with one expert rank a wire is a local copy"),
      no_such("moe-token-dispatcher-type", kOverlap, "not allgather or alltoall_seq",
              "refused: alltoall is the default and the only one, with or without overlap"),
      no_such("expert-tensor-parallel-size", kOverlap, "one tensor parallel rank per expert",
              "refused: experts are not split over tensor ranks"),
      lifted("overlap-micro-batches", kOverlap,
             "under a virtual pipeline at least 2P micro-batches",
             "what pairs up is woven, the rest runs alone"),
      lifted("overlap-noop-layers", kOverlap,
             "under a virtual pipeline noop layers only in the last virtual stage", "anywhere"),
      lifted("layout-noop-layers", "overlap, layout", "no noop layers beside a layout string",
             "both together, under every schedule"),
      lifted("overlap-empty-chunks", kOverlap, "no chunk of a layout string without a t",
             "a stage may have no layer, or the embedding or the loss alone"),
      lifted("overlap-grad-reduce", kOverlap, "no --overlap-grad-reduce",
             "a reduction is a wire that starts after a bucket's last weight gradient"),
      no_such("moe-alltoall-overlap-comm", kOverlap, "not together",
              "refused: use --moe-fb-overlap"),
      no_such("moe-hierarchical-alltoallv", kOverlap, "not together",
              "refused: one all-to-all per expert group"),
      no_such("moe-zero-memory-num-layers", kOverlap, "not together", "refused: there is none"),
      no_such("use-nanopipe", kOverlap, "not together",
              "refused: use --schedules-method dualpipev or zb-h1"),
      no_such("automated-pipeline", kOverlap, "not together",
              "refused: give the cut as a layout string"),
      no_such("recompute-in-bubble", kOverlap, "not together", "refused: there is none"),
      no_such("recompute-in-advance", kOverlap, "not together", "refused: there is none"),
      no_such("use-legacy-models", kOverlap, "not together", "refused: there is one kind of model"),
      no_such("moe-tp-extend-ep", kOverlap, "not together",
              "refused: expert groups are neighbouring data parallel ranks"),

      kept("swap-needs-overlap", "swap", "the swap needs the overlap",
           "refused without --moe-fb-overlap", "moe-fb-overlap", swap_needs_overlap),

      kept("layout-excludes-virtual-flags", kLayout, "no other flag that fixes the cut into stages",
           "refused: the string fixes the stages", "pipeline-model-parallel-layout",
           layout_excludes),
      lifted("layout-mtp-place", kLayout,
             "MTP layers in one stage, in the last chunk, not on the first rank",
             "anywhere behind all decoder layers"),
  };
}

}  // namespace weft
