#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/columns.h"
#include "base/names.h"
#include "base/times.h"
#include "estimate/plan_estimate.h"
#include "estimate/search.h"
#include "estimate/units.h"
#include "timeline/table.h"

namespace weft {
namespace {

std::string schedule_text(const Trial& trial) {
  std::string text = trial.schedule;
  if (trial.chunks > 1) text += fmt::format(" x{}", trial.chunks);
  if (trial.overlap) text += " overlap";
  if (trial.detach) text += " detach";
  return text;
}

// Tokens a second, or a unit of time.
std::string rate_text(const Trial& trial, const std::string& unit) {
  return print_count(trial.rate() / seconds_of(unit).value_or(1));
}

// Flags in lines that a shell takes as one.
std::string command_text(const std::string& flags, std::size_t width) {
  constexpr std::size_t kFlagMargin = 6;
  std::string text;
  for (const std::string& line : wrap(flags, width - kFlagMargin)) {
    text += (text.empty() ? "    " : " \\\n    ") + line;
  }
  return text + "\n";
}

Table table_of(const SearchReport& report) {
  Table table{"",
              "",
              {"", "schedule", seconds_of(report.unit) ? "tokens/s" : "tokens", "P", "DP", "EP",
               "batch", "M", "memory", "bubble", "exposed"},
              {},
              2};
  for (const Trial& trial : report.best) {
    table.rows.push_back(
        {std::to_string(table.rows.size() + 1), schedule_text(trial), rate_text(trial, report.unit),
         std::to_string(trial.pipeline_size), std::to_string(trial.data_size),
         std::to_string(trial.expert_size), std::to_string(trial.micro_batch_size),
         std::to_string(trial.num_micro_batches), print_bytes(trial.bytes),
         fmt::format("{:.1f}%", 100 * trial.bubble), fmt::format("{:.1f}%", 100 * trial.exposed)});
  }
  return table;
}

}  // namespace

std::string search_text(const SearchReport& report, int width) {
  const auto room = static_cast<std::size_t>(width);
  std::string head = counted(report.num_ranks, "rank") + ", ";
  if (report.memory_gib) head += fmt::format("{:g} GiB each, ", *report.memory_gib);
  head += fmt::format("{}: {} ways tried, {} of them lowered and simulated", report.batch,
                      report.tried, report.simulated);
  std::string text = indented(head, 0, room) + indented("costs: " + report.costs, 0, room) + "\n";
  if (report.best.empty()) {
    text += "none fits\n";
  } else {
    text += print_table(table_of(report), width) + "\nthe first\n" +
            command_text(flags_of(report.best.front()), room);
    for (const std::string& reason : report.reasons) text += listed(reason, room);
  }
  if (!report.thrown_out.empty()) text += "\nthrown out\n";
  for (const ThrownOut& thrown : report.thrown_out) {
    text +=
        print_columns({{"", std::to_string(thrown.count), thrown.reason}, {"", "", thrown.example}},
                      {0, 5, room - 11});
  }
  return text;
}

std::string search_json(const SearchReport& report) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["ranks"] = report.num_ranks;
  json["memory_gib"] = report.memory_gib ? Json(*report.memory_gib) : Json(nullptr);
  json["batch"] = report.batch;
  json["costs"] = report.costs;
  json["unit"] = report.unit;
  json["tried"] = report.tried;
  json["simulated"] = report.simulated;
  json["best"] = Json::array();
  for (const Trial& trial : report.best) {
    const auto seconds = seconds_of(report.unit);
    json["best"].push_back(
        {{"flags", flags_of(trial)},
         {"pipeline_parallel", trial.pipeline_size},
         {"data_parallel", trial.data_size},
         {"expert_parallel", trial.expert_size},
         {"micro_batch_size", trial.micro_batch_size},
         {"num_microbatches", trial.num_micro_batches},
         {"schedule", trial.schedule},
         {"chunks", trial.chunks},
         {"moe_fb_overlap", trial.overlap},
         {"dualpipev_dw_detach", trial.detach},
         {"makespan", trial.makespan.value_or(0)},
         {"tokens_per_second", seconds ? Json(trial.rate() / *seconds) : Json(nullptr)},
         {"bytes", trial.bytes},
         {"busy", trial.busy},
         {"bubble", trial.bubble},
         {"exposed_communication", trial.exposed}});
  }
  json["reasons"] = report.reasons;
  json["thrown_out"] = Json::array();
  for (const ThrownOut& thrown : report.thrown_out) {
    json["thrown_out"].push_back(
        {{"reason", thrown.reason}, {"count", thrown.count}, {"example", thrown.example}});
  }
  return json.dump(1) + "\n";
}

}  // namespace weft
