#include "estimate/notes.h"

#include <algorithm>

#include "base/names.h"
#include "estimate/units.h"
#include "layout/make_layout.h"
#include "schedule/registry.h"

namespace weft {
namespace {

using Notes = std::vector<std::string>;

// After "no": `a gate on the shared expert` is "no gate".
std::string without_articles(std::vector<std::string> lacks) {
  for (std::string& lack : lacks) {
    if (lack.starts_with("a ")) lack.erase(0, 2);
  }
  return join(lacks, ", no ");
}

void add_untrained(Notes& notes, const RunReport& report) {
  if (report.model.untrained.empty()) return;
  notes.push_back("`weft train` cannot run this model yet: it has no " +
                  without_articles(report.model.untrained) +
                  "; parameters, FLOPs and memory here count them");
}

void add_exposed(Notes& notes, const Config& config, const RunPlan& plan) {
  const bool moe =
      std::ranges::find(plan.layout.layer_kinds, LayerKind::Moe) != plan.layout.layer_kinds.end();
  if (!moe || config.schedule.moe_fb_overlap) return;
  const std::string& method = config.schedule.schedules_method;
  const ScheduleEntry* entry = find_schedule(method);
  if (has_pairs(plan.schedule)) {
    notes.push_back("--moe-fb-overlap is off: the pairs of " + method +
                    " run forward, then backward, and all-to-all stays exposed");
  } else if (plan.mesh.ep_size > 1 && entry != nullptr && entry->has_pairs) {
    notes.push_back("--moe-fb-overlap is off: all-to-all stays exposed");
  } else if (plan.mesh.ep_size > 1) {
    notes.push_back("all-to-all stays exposed: " + method +
                    " has no pairs to hide it under; dualpipev and interleaved have, with "
                    "--moe-fb-overlap");
  }
}

void add_memory(Notes& notes, const RunReport& report) {
  if (!report.memory_gib) return;
  const auto most = std::ranges::max_element(
      report.ranks, {}, [](const PlannedRank& rank) { return rank.memory.total(); });
  const std::string needs =
      "pipeline rank " + std::to_string(most->rank) + " needs " + print_bytes(most->memory.total());
  const bool fits = static_cast<double>(most->memory.total()) <= *report.memory_gib * kBytesPerGib;
  notes.push_back((fits ? "fits: of " : "does not fit: of ") +
                  print_bytes(static_cast<std::int64_t>(*report.memory_gib * kBytesPerGib)) +
                  " a rank, " + needs);
}

}  // namespace

std::vector<std::string> make_notes(const Config& config, const RunPlan& plan,
                                    const RunReport& report) {
  Notes notes;
  add_untrained(notes, report);
  add_memory(notes, report);
  add_exposed(notes, config, plan);
  if (const auto uneven = uneven_note(config, plan.layout)) notes.push_back(*uneven);
  return notes;
}

}  // namespace weft
