#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/columns.h"
#include "base/names.h"
#include "base/times.h"
#include "estimate/run_report.h"
#include "estimate/units.h"
#include "timeline/table.h"

namespace weft {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kMargin = 10;

// Characters beside the margin.
std::size_t beside(int width) { return static_cast<std::size_t>(width) - kMargin - 2; }

// A name in the margin, and lines of text beside it.
std::string labelled(const std::string& label, const std::string& text, int width) {
  return print_columns({{label, text}}, {kMargin, beside(width)});
}

std::string paragraph(const std::string& text, int width) {
  return indented(text, 0, static_cast<std::size_t>(width));
}

TimeScale scale_of(const StepReport& step) { return time_scale(step.makespan, step.unit); }

// Rows of a table by rank behind the rank, neighbours that are alike as one.
Rows rank_rows(const std::vector<PlannedRank>& ranks,
               const std::function<std::vector<std::string>(const PlannedRank&)>& row_of) {
  Rows rows;
  for (std::size_t first = 0; first < ranks.size();) {
    std::vector<std::string> row = row_of(ranks[first]);
    std::size_t next = first + 1;
    while (next < ranks.size() && row_of(ranks[next]) == row) ++next;
    std::string name = std::to_string(ranks[first].rank);
    if (next > first + 1) name += "-" + std::to_string(ranks[next - 1].rank);
    row.insert(row.begin(), std::move(name));
    rows.push_back(std::move(row));
    first = next;
  }
  return rows;
}

std::string numbers(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

int count_kind(const ModelReport& model, LayerKind kind) {
  return static_cast<int>(std::ranges::count(model.layers, kind));
}

// `61 layers, 58 MoE, 3 dense`, those that there are.
std::string layers_text(std::size_t layers, int moe, int dense, int noop, int mtp) {
  std::string text = counted(static_cast<std::int64_t>(layers), "layer");
  const std::pair<int, const char*> kinds[] = {
      {moe, "MoE"}, {dense, "dense"}, {noop, "doing nothing"}, {mtp, "MTP"}};
  for (const auto& [count, name] : kinds) {
    if (count > 0) text += fmt::format(", {} {}", count, name);
  }
  return text;
}

// Parts joined by commas, in lines of at most `width` characters; none is folded itself.
Rows parts_rows(const ParameterCount& count, std::size_t width) {
  const std::pair<const char*, std::int64_t> all[] = {{"embedding", count.embedding},
                                                      {"attention", count.attention},
                                                      {"dense feed-forward", count.dense_ffn},
                                                      {"router", count.router},
                                                      {"experts", count.experts},
                                                      {"shared expert", count.shared_expert},
                                                      {"norms", count.norms},
                                                      {"head", count.head},
                                                      {"MTP", count.mtp + count.mtp_experts}};
  Rows rows;
  for (const auto& [name, value] : all) {
    if (value == 0) continue;
    const std::string part = std::string(name) + " " + print_count(static_cast<double>(value));
    if (rows.empty() || rows.back()[1].size() + part.size() + 3 > width) {
      if (!rows.empty()) rows.back()[1] += ",";
      rows.push_back({"", part});
    } else {
      rows.back()[1] += ", " + part;
    }
  }
  return rows;
}

std::string model_text(const ModelReport& model, int width) {
  const ModelSizes& sizes = model.sizes;
  std::string head =
      (model.source.empty() ? "" : model.source + ": ") +
      layers_text(model.layers.size(), count_kind(model, LayerKind::Moe),
                  count_kind(model, LayerKind::Dense), count_kind(model, LayerKind::Noop), 0) +
      fmt::format("; hidden {}", sizes.hidden);
  if (sizes.experts > 0) {
    head += fmt::format(", {}, top {}", counted(sizes.experts, "expert"), sizes.topk);
  }
  return labelled("model", head, width) +
         labelled("parameters",
                  fmt::format("{} ({}); a token meets {}", model.total.total(),
                              print_count(static_cast<double>(model.total.total())),
                              print_count(static_cast<double>(model.active.total()))),
                  width) +
         print_columns(parts_rows(model.total, beside(width)), {kMargin, beside(width)}) +
         labelled(
             "FLOPs",
             fmt::format("{} a token forward, {} in training; {} of the forward are "
                         "attention's scores",
                         print_count(model.flops.forward()), print_count(model.flops.training()),
                         print_count(model.flops.attention)),
             width);
}

std::string run_text(const RunReport& report, int width) {
  const Mesh& mesh = report.mesh;
  const BatchSizes& batch = report.batch;
  return labelled("run",
                  fmt::format("{} on {}: P {}, DP {}, EP {}; {} compute", report.schedule,
                              counted(mesh.world_size(), "rank"), mesh.pp_size, mesh.dp_size,
                              mesh.ep_size, report.params_dtype),
                  width) +
         labelled(
             "batch",
             fmt::format("{} of {}: {} of {} on each data parallel rank",
                         counted(batch.global_batch_size, "sequence"),
                         counted(report.model.sizes.sequence, "token"),
                         counted(batch.num_micro_batches, "micro-batch"), batch.micro_batch_size),
             width);
}

std::string groups_text(const RunReport& report, int width) {
  Table table{"groups of global ranks", "", {"group", "number", "first", "for"}, {}, 4};
  std::int64_t edges = 0;
  for (const GroupReport& group : report.groups) {
    const bool is_edge = group.name.starts_with("edge");
    if (group.size < 2 || (is_edge && edges++ > 0)) continue;
    const std::vector<int>& first = group.members.front();
    std::vector<int> shown(first.begin(), first.begin() + std::min<std::ptrdiff_t>(6, group.size));
    table.rows.push_back({group.name, fmt::format("{} x {}", group.members.size(), group.size),
                          numbers(shown) + (group.size > 6 ? ",..." : ""), group.purpose});
  }
  if (table.rows.empty()) return "";
  if (edges > 1) table.note = "likewise " + counted(edges - 1, "more edge") + " between stages";
  return "\n" + print_table(table, width);
}

// The texts of its stages; of many layers, how many of each kind.
std::string rank_layers_text(const PlannedRank& rank) {
  constexpr std::size_t kLongest = 24;
  const std::string texts = join(rank.texts, " ");
  if (texts.size() <= kLongest) return texts;
  const int layers = rank.dense_layers + rank.moe_layers + rank.noop_layers;
  return layers_text(static_cast<std::size_t>(layers), rank.moe_layers, rank.dense_layers,
                     rank.noop_layers, rank.mtp_layers);
}

std::string memory_text(const RunReport& report, int width) {
  Table table{
      "layers, parameters and bytes of each pipeline rank",
      "",
      {"rank", "layers", "parameters", "weights", "gradients", "optimizer", "activations", "total"},
      rank_rows(report.ranks,
                [](const PlannedRank& rank) -> std::vector<std::string> {
                  const MemoryReport& memory = rank.memory;
                  return {rank_layers_text(rank),
                          print_count(static_cast<double>(rank.parameters.total())),
                          print_bytes(memory.weights),
                          print_bytes(memory.gradients),
                          print_bytes(memory.optimizer),
                          print_bytes(memory.activations),
                          print_bytes(memory.total())};
                }),
      2};
  const auto peak = std::ranges::max_element(
      report.ranks, {}, [](const PlannedRank& rank) { return rank.memory.activations; });
  return "\n" + print_table(table, width) +
         paragraph(fmt::format("activations peak on rank {} in {} of {}, {} into the step: {} "
                               "alive, {} put off",
                               peak->rank, peak->peak.step, peak->peak.cell,
                               print_time(peak->peak.time, report.step.unit, 4),
                               counted(peak->peak.live_chunks, "chunk"),
                               counted(peak->peak.pending_wgrads, "weight gradient")),
                   width);
}

std::int64_t sum_of(const RankTraffic& traffic, std::initializer_list<WireKind> kinds) {
  std::int64_t bytes = 0;
  for (const WireKind kind : kinds) {
    const auto found = traffic.find(kind);
    if (found != traffic.end()) bytes += found->second.bytes;
  }
  return bytes;
}

std::string traffic_text(const RunReport& report, int width) {
  using enum WireKind;
  Table table{"bytes that leave a rank in one step",
              "",
              {"rank", "dispatch", "combine", "counts", "forward", "backward", "gradients"},
              rank_rows(report.ranks, [](const PlannedRank& rank) -> std::vector<std::string> {
                const RankTraffic& traffic = rank.traffic;
                return {print_bytes(sum_of(traffic, {Dispatch, CombineBackward})),
                        print_bytes(sum_of(traffic, {Combine, DispatchBackward})),
                        print_bytes(sum_of(traffic, {Counts})),
                        print_bytes(sum_of(traffic, {SendForward})),
                        print_bytes(sum_of(traffic, {SendBackward})),
                        print_bytes(sum_of(traffic, {ReduceGrad, GatherGrad}))};
              })};
  if (report.tied_bytes > 0) {
    table.note = "copies of the embedding: up to " + print_bytes(report.tied_bytes) +
                 " from a rank that has one";
  }
  return "\n" + print_table(table, width);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "none";
}

std::string step_text(const RunReport& report, int width) {
  const StepReport& step = report.step;
  const TimeScale scale = scale_of(step);
  std::string head = "predicted step: " + print_time(step.makespan, step.unit, 4);
  if (step.tokens_per_second) {
    head += ", " + print_count(*step.tokens_per_second) + " tokens a second";
  }
  const Table table{
      head,
      fmt::format("times in {}; of communication only what is exposed. All-to-all hidden: steady "
                  "{}, outside {}",
                  scale.unit, share_text(step.all_to_all_hidden_steady),
                  share_text(step.all_to_all_hidden_outside)),
      {"rank", "busy", "bubble", "all-to-all", "counts", "P2P", "gradients"},
      rank_rows(report.ranks, [&scale](const PlannedRank& rank) -> std::vector<std::string> {
        const RankMetrics& times = rank.times;
        return {scale.text(times.busy),
                scale.text(times.bubble),
                scale.text(times.all_to_all_exposed),
                scale.text(times.counts_exposed),
                scale.text(times.p2p_exposed),
                scale.text(times.reduce_exposed)};
      })};
  return "\n" + print_table(table, width) + paragraph("costs: " + step.costs, width);
}

std::string values_text(const RunReport& report, int width) {
  Table table{"values and where they came from; what is not here has its default",
              "",
              {"flag", "value", "from"},
              {},
              3};
  for (const ValueSource& value : report.values) {
    if (value.origin == "default") continue;
    std::string from = value.origin;
    if (!value.place.empty() && value.origin != "flag") from += ", " + value.place;
    if (!value.overrides.empty()) from += " (the model has " + value.overrides + ")";
    table.rows.push_back({value.flag, value.value, from});
  }
  return "\n" + print_table(table, width);
}

std::string bent_text(const RunReport& report, int width) {
  if (report.bent.empty()) return "";
  const auto room = static_cast<std::size_t>(width);
  std::string text = "\nrules of the original that this run bends\n";
  for (const BentRule& bent : report.bent) {
    text += indented(bent.rule + ": " + bent.found, 2, room) +
            indented("the original would have said, of " + bent.feature + ": " + bent.original, 6,
                     room) +
            indented("here: " + bent.weft, 6, room);
  }
  return text;
}

std::string script_text(const RunReport& report, int width) {
  if (report.script.empty()) return "";
  return "\nflags of a launch script\n" +
         print_script_flags(report.script, static_cast<std::size_t>(width));
}

std::string notes_text(const RunReport& report, int width) {
  if (report.notes.empty()) return "";
  std::string text = "\nnotes\n";
  for (const std::string& note : report.notes) {
    text += listed(note, static_cast<std::size_t>(width));
  }
  return text;
}

}  // namespace

std::string report_text(const RunReport& report, int width) {
  return model_text(report.model, width) + run_text(report, width) + groups_text(report, width) +
         memory_text(report, width) + traffic_text(report, width) + step_text(report, width) +
         bent_text(report, width) + script_text(report, width) + values_text(report, width) +
         notes_text(report, width);
}

}  // namespace weft
