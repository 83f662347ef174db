#include "estimate/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/times.h"
#include "estimate/notes.h"
#include "schedule/text.h"

namespace weft {
namespace {

ModelReport model_report(const Config& config, const Layout& layout) {
  ModelReport model;
  model.source = config.plan.model;
  model.sizes = model_sizes(config);
  model.layers = layout.layer_kinds;
  model.total = count_model(model.sizes, layout);
  model.active = count_active(model.sizes, layout);
  model.flops = count_flops(model.sizes, layout);
  model.untrained = config.extras.untrained;
  if (model.total.mtp > 0) model.untrained.emplace_back("multi-token prediction layers");
  return model;
}

void count_layers(PlannedRank& rank, const Layout& layout, const StageLayers& stage) {
  for (const int layer : stage.decoder_layers) {
    switch (layout.layer_kinds.at(static_cast<std::size_t>(layer))) {
      case LayerKind::Dense:
        ++rank.dense_layers;
        break;
      case LayerKind::Moe:
        ++rank.moe_layers;
        break;
      case LayerKind::Noop:
        ++rank.noop_layers;
        break;
    }
  }
  rank.mtp_layers += static_cast<int>(stage.mtp_layers.size());
}

PeakReport peak_report(const RankSteps& list, std::size_t index, const std::vector<Held>& held,
                       const std::vector<EntryTime>& times) {
  PeakReport peak;
  if (list.steps.empty()) return peak;
  peak.step = print(list.steps[index]);
  peak.time = times[index].start;
  peak.live_chunks = held[index].live_chunks;
  peak.pending_wgrads = held[index].pending_wgrads;
  const auto cell = std::ranges::find_if(
      list.spans, [&](const StepSpan& span) { return index < span.first + span.count; });
  if (cell != list.spans.end()) peak.cell = print(cell->cell);
  return peak;
}

// Each gradient of the matrix goes to the other ranks apart, so that they are summed in the order
// of their places; the sum comes back.
std::int64_t tied_bytes(const Layout& layout, const ModelSizes& sizes,
                        const ElementBytes& element) {
  const std::vector<int> ranks = embedding_ranks(layout, sizes.tied);
  int most = 0;
  for (const int r : ranks) most = std::max(most, embedding_places(layout, sizes.tied, Rank(r)));
  const int num_ranks = static_cast<int>(ranks.size());
  return (most + 1) * share_bytes(sizes.vocabulary * sizes.hidden, num_ranks, element.main);
}

StepReport step_report(const Config& config, const RunPlan& plan, const TimelineMetrics& metrics,
                       const std::string& unit) {
  StepReport step;
  step.unit = unit;
  step.costs = costs_text(config);
  step.makespan = metrics.makespan;
  step.all_to_all_hidden_steady = metrics.all_to_all_hidden_steady;
  step.all_to_all_hidden_outside = metrics.all_to_all_hidden_outside;
  step.tokens = std::int64_t{plan.sizes.global_batch_size} * config.model.seq_length;
  const std::optional<double> seconds = seconds_of(unit);
  if (seconds && step.makespan > 0) {
    step.tokens_per_second = static_cast<double>(step.tokens) / (step.makespan * *seconds);
  }
  return step;
}

}  // namespace

std::string costs_text(const Config& config) {
  if (!config.train.costs.empty()) return config.train.costs;
  const Rates rates;
  return fmt::format(
      "estimated from the model's sizes for one CPU core ({} GFLOP/s, {} GB/s of memory, links of "
      "{} "
      "GB/s); for another device give --costs FILE.toml with its rates",
      1000 * rates.tflops, rates.memory_gb_per_s, rates.expert.gb_per_s);
}

RunReport make_run_report(const Request& request, const RunFacts& facts) {
  const Config config = resolved(request.config, facts);
  const PlanEstimate estimate = estimate_plan(config);
  if (std::vector<Finding> over = limit_findings(config, estimate); !over.empty()) {
    throw PlanError(std::move(over));
  }
  const RunPlan& plan = estimate.plan;
  const Layout& layout = plan.layout;

  RunReport report;
  report.model = model_report(config, layout);
  report.schedule = config.schedule.schedules_method;
  report.mesh = plan.mesh;
  report.batch = plan.sizes;
  report.params_dtype = config.train.params_dtype;
  report.groups =
      group_reports(plan.mesh, layout.map, embedding_ranks(layout, estimate.sizes.tied));
  report.memory_gib = config.plan.memory_gib;

  const PlanHeld held = held_of(estimate);
  const PlanTimes times = times_of(estimate);
  const std::vector<RankTraffic> traffic = count_traffic(
      plan.steps, layout, plan.mesh, estimate.sizes, estimate.table, estimate.element);
  for (int r = 0; r < layout.map.num_ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    PlannedRank& rank = report.ranks.emplace_back();
    rank.rank = r;
    for (int chunk = 0; chunk < layout.map.chunks_per_rank; ++chunk) {
      const Stage stage = layout.map.stage_of(Rank(r), Chunk(chunk));
      const StageLayers& layers = layout.stages.at(static_cast<std::size_t>(stage.value));
      rank.stages.push_back(stage.value);
      rank.texts.push_back(stage_text(layers));
      count_layers(rank, layout, layers);
    }
    rank.parameters = count_rank(estimate.sizes, layout, Rank(r), plan.mesh.ep_size);
    rank.memory = memory_of(rank.parameters, estimate.element, estimate.activations[i].peak);
    rank.peak = peak_report(plan.steps.ranks[i], estimate.activations[i].peak_step, held[i],
                            times[i]);
    rank.traffic = traffic[i];
    rank.times = estimate.metrics.ranks[i];
  }
  report.tied_bytes = tied_bytes(layout, estimate.sizes, estimate.element);
  report.step = step_report(config, plan, estimate.metrics, estimate.timeline.unit);
  report.bent = bent_rules(request, config, layout);
  report.script = script_flags_of(request);
  report.values = value_sources(request, config);
  report.notes = make_notes(config, plan, report);
  return report;
}

}  // namespace weft
