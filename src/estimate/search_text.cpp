#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/columns.h"
#include "estimate/plan_estimate.h"
#include "estimate/search.h"
#include "estimate/units.h"

namespace weft {
namespace {

constexpr std::size_t kTextWidth = 96;

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

std::string table_text(const SearchReport& report) {
  std::string text =
      fmt::format("{:>2} {:>9} {:>3} {:>4} {:>4} {:>5} {:>5}  {:<28} {:>9} {:>6} {:>7}\n", "",
                  seconds_of(report.unit) ? "tokens/s" : "tokens", "P", "DP", "EP", "batch", "M",
                  "schedule", "memory", "bubble", "exposed");
  int place = 0;
  for (const Trial& trial : report.best) {
    text += fmt::format(
        "{:>2} {:>9} {:>3} {:>4} {:>4} {:>5} {:>5}  {:<28} {:>9} {:>5.1f}% {:>6.1f}%\n", ++place,
        rate_text(trial, report.unit), trial.pipeline_size, trial.data_size, trial.expert_size,
        trial.micro_batch_size, trial.num_micro_batches, schedule_text(trial),
        print_bytes(trial.bytes), 100 * trial.bubble, 100 * trial.exposed);
  }
  return text;
}

}  // namespace

std::string search_text(const SearchReport& report) {
  std::string text = fmt::format("{} ranks, ", report.num_ranks);
  if (report.memory_gib) text += fmt::format("{:g} GiB each, ", *report.memory_gib);
  text += fmt::format("{}: {} ways tried, {} of them lowered and simulated\n", report.batch,
                      report.tried, report.simulated);
  text += indented("costs: " + report.costs, 0, kTextWidth) + "\n";
  if (report.best.empty()) {
    text += "none fits\n";
  } else {
    text += table_text(report) + "\nthe first: " + flags_of(report.best.front()) + "\n";
    for (const std::string& reason : report.reasons) text += "  - " + reason + "\n";
  }
  if (!report.thrown_out.empty()) text += "\nthrown out\n";
  for (const ThrownOut& thrown : report.thrown_out) {
    text += fmt::format("{:>6}  {}\n        {}\n", thrown.count, thrown.reason, thrown.example);
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
