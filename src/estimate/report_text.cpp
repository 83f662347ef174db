#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/columns.h"
#include "base/names.h"
#include "estimate/run_report.h"
#include "estimate/units.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr std::size_t kWidth = 96;

// Times in the unit that keeps the step's digits few.
struct TimeScale {
  double factor = 1;
  std::string unit;

  std::string text(double time) const { return fmt::format("{:.4g}", time * factor); }
};

TimeScale scale_of(const StepReport& step) {
  const std::optional<double> seconds = seconds_of(step.unit);
  if (!seconds || step.makespan * *seconds < 10) return {1, step.unit};
  return {*seconds, "s"};
}

// Rows of a table by rank, neighbours that are alike as one.
std::string rank_rows(const std::vector<PlannedRank>& ranks,
                      const std::function<std::string(const PlannedRank&)>& row_of) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    const std::string row = row_of(ranks[first]);
    std::size_t next = first + 1;
    while (next < ranks.size() && row_of(ranks[next]) == row) ++next;
    std::string name = std::to_string(ranks[first].rank);
    if (next > first + 1) name += "-" + std::to_string(ranks[next - 1].rank);
    text += fmt::format("{:>6} {}\n", name, row);
    first = next;
  }
  return text;
}

std::string numbers(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

int count_kind(const ModelReport& model, LayerKind kind) {
  return static_cast<int>(std::ranges::count(model.layers, kind));
}

std::string layers_text(const ModelReport& model) {
  std::string text = std::to_string(model.layers.size()) + " layers";
  static constexpr std::pair<LayerKind, const char*> kNames[] = {
      {LayerKind::Moe, "MoE"}, {LayerKind::Dense, "dense"}, {LayerKind::Noop, "doing nothing"}};
  for (const auto& [kind, name] : kNames) {
    const int count = count_kind(model, kind);
    if (count > 0) text += fmt::format(", {} {}", count, name);
  }
  return text;
}

std::string parts_text(const ParameterCount& count) {
  const std::pair<const char*, std::int64_t> all[] = {{"embedding", count.embedding},
                                                      {"attention", count.attention},
                                                      {"dense feed-forward", count.dense_ffn},
                                                      {"router", count.router},
                                                      {"experts", count.experts},
                                                      {"shared expert", count.shared_expert},
                                                      {"norms", count.norms},
                                                      {"head", count.head},
                                                      {"MTP", count.mtp + count.mtp_experts}};
  std::vector<std::string> parts;
  for (const auto& [name, value] : all) {
    if (value > 0)
      parts.push_back(std::string(name) + " " + print_count(static_cast<double>(value)));
  }
  return join(parts);
}

std::string model_text(const ModelReport& model) {
  const ModelSizes& sizes = model.sizes;
  std::string text = "model       " + (model.source.empty() ? "" : model.source + ": ") +
                     layers_text(model) + fmt::format("; hidden {}", sizes.hidden);
  if (sizes.experts > 0) {
    text += fmt::format(", {} experts, top {}", sizes.experts, sizes.topk);
  }
  text +=
      fmt::format("\nparameters  {} ({}); a token meets {}\n            {}\n", model.total.total(),
                  print_count(static_cast<double>(model.total.total())),
                  print_count(static_cast<double>(model.active.total())), parts_text(model.total));
  text += fmt::format(
      "FLOPs       {} a token forward, {} in training; {} of the forward are attention's scores\n",
      print_count(model.flops.forward()), print_count(model.flops.training()),
      print_count(model.flops.attention));
  return text;
}

std::string run_text(const RunReport& report) {
  const Mesh& mesh = report.mesh;
  const BatchSizes& batch = report.batch;
  return fmt::format(
      "run         {} on {} ranks: P {}, DP {}, EP {}; {} compute\n"
      "batch       {} sequences of {} tokens: {} micro-batches of {} on each data parallel rank\n",
      report.schedule, mesh.world_size(), mesh.pp_size, mesh.dp_size, mesh.ep_size,
      report.params_dtype, batch.global_batch_size, report.model.sizes.sequence,
      batch.num_micro_batches, batch.micro_batch_size);
}

std::string groups_text(const RunReport& report) {
  std::string text = "\ngroups of global ranks\n";
  std::size_t edges = 0;
  for (const GroupReport& group : report.groups) {
    const bool is_edge = group.name.starts_with("edge");
    if (group.size < 2 || (is_edge && edges++ > 0)) continue;
    const std::vector<int>& first = group.members.front();
    std::vector<int> shown(first.begin(), first.begin() + std::min<std::ptrdiff_t>(6, group.size));
    text += fmt::format("  {:<8} {:>4} x {:>3}  {}{}  {}\n", group.name, group.members.size(),
                        group.size, numbers(shown), group.size > 6 ? ",..." : "", group.purpose);
  }
  if (edges > 1) text += fmt::format("  likewise {} more edges between stages\n", edges - 1);
  return text;
}

std::string memory_text(const RunReport& report) {
  std::string text = "\nlayers, parameters and bytes of each pipeline rank\n";
  std::size_t width = 6;
  for (const PlannedRank& rank : report.ranks) {
    width = std::max(width, join(rank.texts, " ").size());
  }
  width = std::min<std::size_t>(width, 24);
  text +=
      fmt::format("{:>6} {:<{}} {:>10} {:>9} {:>9} {:>9} {:>11} {:>9}\n", "rank", "layout", width,
                  "parameters", "weights", "gradients", "optimizer", "activations", "total");
  text += rank_rows(report.ranks, [width](const PlannedRank& rank) {
    std::string layout = join(rank.texts, " ");
    if (layout.size() > width) {
      layout = fmt::format("{} dense, {} MoE layers", rank.dense_layers, rank.moe_layers);
    }
    const MemoryReport& memory = rank.memory;
    return fmt::format("{:<{}} {:>10} {:>9} {:>9} {:>9} {:>11} {:>9}", layout, width,
                       print_count(static_cast<double>(rank.parameters.total())),
                       print_bytes(memory.weights), print_bytes(memory.gradients),
                       print_bytes(memory.optimizer), print_bytes(memory.activations),
                       print_bytes(memory.total()));
  });
  const TimeScale scale = scale_of(report.step);
  const auto peak = std::ranges::max_element(
      report.ranks, {}, [](const PlannedRank& rank) { return rank.memory.activations; });
  text += fmt::format(
      "activations peak on rank {} in {} of {}, {} {} into the step:\n"
      "  {} chunks alive, {} W's put off\n",
      peak->rank, peak->peak.step, peak->peak.cell, scale.text(peak->peak.time), scale.unit,
      peak->peak.live_chunks, peak->peak.pending_wgrads);
  return text;
}

std::int64_t sum_of(const RankTraffic& traffic, std::initializer_list<WireKind> kinds) {
  std::int64_t bytes = 0;
  for (const WireKind kind : kinds) {
    const auto found = traffic.find(kind);
    if (found != traffic.end()) bytes += found->second.bytes;
  }
  return bytes;
}

std::string traffic_text(const RunReport& report) {
  std::string text = "\nbytes that leave a rank in one step\n";
  text += fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "rank", "dispatch",
                      "combine", "counts", "forward", "backward", "gradients");
  using enum WireKind;
  text += rank_rows(report.ranks, [](const PlannedRank& rank) {
    const RankTraffic& traffic = rank.traffic;
    return fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
                       print_bytes(sum_of(traffic, {Dispatch, CombineBackward})),
                       print_bytes(sum_of(traffic, {Combine, DispatchBackward})),
                       print_bytes(sum_of(traffic, {Counts})),
                       print_bytes(sum_of(traffic, {SendForward})),
                       print_bytes(sum_of(traffic, {SendBackward})),
                       print_bytes(sum_of(traffic, {ReduceGrad, GatherGrad})));
  });
  if (report.tied_bytes > 0) {
    text += "copies of the embedding: up to " + print_bytes(report.tied_bytes) +
            " from a rank that has one\n";
  }
  return text;
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "none";
}

std::string step_text(const RunReport& report) {
  const StepReport& step = report.step;
  const TimeScale scale = scale_of(step);
  std::string text = fmt::format("\npredicted step: {} {}", scale.text(step.makespan), scale.unit);
  if (step.tokens_per_second) {
    text += ", " + print_count(*step.tokens_per_second) + " tokens a second";
  }
  text += "\n" + indented("costs: " + step.costs, 0, kWidth);
  text += fmt::format("all-to-all hidden: steady {}, outside {}\n",
                      share_text(step.all_to_all_hidden_steady),
                      share_text(step.all_to_all_hidden_outside));
  text += fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  ({})\n", "rank", "busy",
                      "bubble", "all-to-all", "counts", "P2P", "gradients", scale.unit);
  text += rank_rows(report.ranks, [&scale](const PlannedRank& rank) {
    const RankMetrics& times = rank.times;
    return fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", scale.text(times.busy),
                       scale.text(times.bubble), scale.text(times.all_to_all_exposed),
                       scale.text(times.counts_exposed), scale.text(times.p2p_exposed),
                       scale.text(times.reduce_exposed));
  });
  return text + "of communication only what is exposed\n";
}

std::string values_text(const RunReport& report) {
  std::string text = "\nvalues and where they came from; what is not here has its default\n";
  for (const ValueSource& value : report.values) {
    if (value.origin == "default") continue;
    std::string line = fmt::format("  {:<38} {:<14} {}", value.flag, value.value, value.origin);
    if (!value.place.empty() && value.origin != "flag") line += ", " + value.place;
    if (!value.overrides.empty()) line += " (the model has " + value.overrides + ")";
    text += line + "\n";
  }
  return text;
}

std::string bent_text(const RunReport& report) {
  if (report.bent.empty()) return "";
  std::string text = "\nrules of the original that this run bends\n";
  for (const BentRule& bent : report.bent) {
    text += "  " + bent.rule + ": " + bent.found + "\n" +
            indented("the original would have said, of " + bent.feature + ": " + bent.original, 6,
                     kWidth) +
            indented("here: " + bent.weft, 6, kWidth);
  }
  return text;
}

std::string script_text(const RunReport& report) {
  return report.script.empty() ? "" : "\nflags of a launch script\n" + report.script;
}

std::string notes_text(const RunReport& report) {
  if (report.notes.empty()) return "";
  std::string text = "\nnotes\n";
  for (const std::string& note : report.notes) {
    std::string lines = indented(note, 4, kWidth);
    lines[2] = '-';
    text += lines;
  }
  return text;
}

}  // namespace

std::string report_text(const RunReport& report) {
  return model_text(report.model) + run_text(report) + groups_text(report) + memory_text(report) +
         traffic_text(report) + step_text(report) + bent_text(report) + script_text(report) +
         values_text(report) + notes_text(report);
}

}  // namespace weft
