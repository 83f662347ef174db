#include "report/print_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/columns.h"
#include "base/times.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDifferencesShown = 8;

struct TimePartName {
  TimePart part;
  std::string_view key;
  std::string_view heading;
  std::string_view words;
};

constexpr std::array<TimePartName, kNumTimeParts> kParts = {{
    {TimePart::Busy, "busy", "busy", "busy"},
    {TimePart::Bubble, "bubble", "bubble", "bubble"},
    {TimePart::AllToAllExposed, "all_to_all_exposed", "a2a", "all-to-all exposed"},
    {TimePart::P2pExposed, "p2p_exposed", "P2P", "P2P exposed"},
    {TimePart::CountsExposed, "counts_exposed", "counts", "counts exposed"},
    {TimePart::ReduceExposed, "reduce_exposed", "reduce", "gradient reduction exposed"},
}};

// Four digits or so, never an exponent.
std::string number(double value) {
  const double size = std::abs(value);
  std::string text = fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 1 ? 2 : 4);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string signed_text(double value, const std::string& text) {
  return (value > 0 && text != "0" ? "+" : "") + text;
}

std::optional<double> hidden_share(const PhaseTimes& times) {
  if (times.all_to_all <= 0) return std::nullopt;
  return 1 - times.all_to_all_waited / times.all_to_all;
}

// The report with its times in the unit in which a person reads the longest; below 10 s as they
// are, since differences count.
Report in_natural_unit(Report report) {
  double longest = report.figures.front().highest.value_or(0);
  for (const RankReport& rank : report.ranks) {
    double length = 0;
    for (const PhaseTimes& phase : rank.measured) length += phase.length();
    longest = std::max(longest, length);
  }
  constexpr double kLong = 10;
  if (longest * seconds_of(report.unit).value_or(0) < kLong) return report;
  const TimeScale scale = time_scale(longest, report.unit);
  const auto take = [&scale](std::optional<double>& time) {
    if (time) *time *= scale.factor;
  };
  for (std::size_t i = 0; i < report.figures.size(); ++i) {
    if (kMetricsFigures[i].is_share) continue;
    StepFigure& figure = report.figures[i];
    for (auto* time : {&figure.median, &figure.lowest, &figure.highest, &figure.predicted}) {
      take(*time);
    }
  }
  for (RankReport& rank : report.ranks) {
    for (PhaseTimes& phase : rank.measured) phase /= 1 / scale.factor;
    if (!rank.predicted) continue;
    for (PhaseTimes& phase : *rank.predicted) phase /= 1 / scale.factor;
  }
  for (KindReport& kind : report.kinds) {
    kind.mean *= scale.factor;
    take(kind.predicted);
  }
  for (Difference& difference : report.differences) {
    difference.measured *= scale.factor;
    difference.predicted *= scale.factor;
  }
  report.unit = scale.unit;
  return report;
}

// --- tables ----------------------------------------------------------------------------------

std::string steps_text(const Report& report) {
  if (report.steps.empty()) return "The timeline as a whole";
  if (report.steps.size() == 1) return fmt::format("Step {}", report.steps.front());
  return fmt::format("Steps {} to {}", report.steps.front(), report.steps.back());
}

std::string cell(const MetricsFigure& figure, const std::optional<double>& value) {
  if (!value) return "-";
  return figure.is_share ? percent(*value) : number(*value);
}

Table figures_table(const Report& report) {
  Table table{steps_text(report),
              "Times are the largest over ranks, measured the median over steps; shares are of all "
              "ranks.",
              {"", "measured", "lowest", "highest", "predicted", "difference"},
              {}};
  for (std::size_t i = 0; i < report.figures.size(); ++i) {
    const MetricsFigure& name = kMetricsFigures[i];
    const StepFigure& figure = report.figures[i];
    std::string difference = "-";
    if (figure.median && figure.predicted) {
      const double by = *figure.median - *figure.predicted;
      difference = signed_text(by, cell(name, by));
    }
    std::string words(name.words);
    if (words.ends_with(", ms")) {
      words.resize(words.size() - 4);
      if (seconds_of(report.unit)) words += ", " + report.unit;
    }
    table.rows.push_back({words, cell(name, figure.median), cell(name, figure.lowest),
                          cell(name, figure.highest), cell(name, figure.predicted), difference});
  }
  return table;
}

std::vector<std::string> times_row(std::string name, const PhaseTimes& times) {
  std::vector<std::string> row = {std::move(name), number(times.length())};
  for (const TimePartName& part : kParts) row.push_back(number(times[part.part]));
  const std::optional<double> hidden = hidden_share(times);
  row.push_back(hidden ? percent(*hidden) : "-");
  return row;
}

std::vector<std::string> times_columns() {
  std::vector<std::string> columns = {"", "length"};
  for (const TimePartName& part : kParts) columns.emplace_back(part.heading);
  columns.emplace_back("hidden");
  return columns;
}

// Mean over ranks; they differ in where a phase begins and ends.
PhaseTimes mean_of(const Report& report, std::size_t phase, bool predicted) {
  PhaseTimes mean;
  for (const RankReport& rank : report.ranks) {
    mean += predicted ? (*rank.predicted)[phase] : rank.measured[phase];
  }
  mean /= static_cast<double>(report.ranks.size());
  return mean;
}

Table phases_table(const Report& report) {
  Table table{fmt::format("By phase, {}, mean over ranks", report.unit),
              "a2a, P2P, counts, reduce: exposed. hidden: share of the all-to-alls started in the "
              "phase.",
              times_columns(),
              {}};
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    table.rows.push_back(times_row(name_of(static_cast<Phase>(p)), mean_of(report, p, false)));
    if (report.ranks.front().predicted) {
      table.rows.push_back(times_row("  predicted", mean_of(report, p, true)));
    }
  }
  return table;
}

PhaseTimes whole(const TimesByPhase& phases) {
  PhaseTimes sum;
  for (const PhaseTimes& phase : phases) sum += phase;
  return sum;
}

std::string rank_name(Rank rank) { return fmt::format("rank {}", rank.value); }

Table ranks_table(const Report& report) {
  Table table{fmt::format("By rank, {}", report.unit), "", times_columns(), {}};
  for (const RankReport& rank : report.ranks) {
    table.rows.push_back(times_row(rank_name(rank.rank), whole(rank.measured)));
    if (rank.predicted) table.rows.push_back(times_row("  predicted", whole(*rank.predicted)));
  }
  return table;
}

const TimePartName& named(TimePart part) { return kParts[static_cast<std::size_t>(part)]; }

Table differences_table(const Report& report) {
  Table table{fmt::format("Largest differences, {}", report.unit),
              "",
              {"where", "measured", "predicted", "difference"},
              {}};
  for (const Difference& difference : report.differences) {
    if (table.rows.size() == kDifferencesShown) break;
    table.rows.push_back({fmt::format("{}, {}: {}", rank_name(difference.rank),
                                      name_of(difference.phase), named(difference.part).words),
                          number(difference.measured), number(difference.predicted),
                          signed_text(difference.size(), number(difference.size()))});
  }
  return table;
}

Table kinds_table(const Report& report) {
  Table table{fmt::format("By kind of event, mean, {}", report.unit),
              "",
              {"", "events", "measured", "predicted", "difference"},
              {}};
  for (const KindReport& kind : report.kinds) {
    const double by = kind.mean - kind.predicted.value_or(0);
    table.rows.push_back({kind.name, std::to_string(kind.count), number(kind.mean),
                          kind.predicted ? number(*kind.predicted) : "-",
                          kind.predicted ? signed_text(by, number(by)) : "-"});
  }
  return table;
}

// --- JSON ------------------------------------------------------------------------------------

Json value_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const PhaseTimes& times) {
  Json json = {{"length", times.length()}};
  for (const TimePartName& part : kParts) json[std::string(part.key)] = times[part.part];
  json["all_to_all"] = times.all_to_all;
  json["all_to_all_hidden"] = value_or_null(hidden_share(times));
  return json;
}

Json beside(const PhaseTimes& measured, const std::optional<PhaseTimes>& predicted) {
  return {{"measured", to_json(measured)}, {"predicted", predicted ? to_json(*predicted) : Json()}};
}

Json phase_json(std::size_t phase, const PhaseTimes& measured,
                const std::optional<PhaseTimes>& predicted) {
  Json json = {{"phase", name_of(static_cast<Phase>(phase))}};
  json.update(beside(measured, predicted));
  return json;
}

Json figures_json(const Report& report) {
  Json json = Json::object();
  for (std::size_t i = 0; i < report.figures.size(); ++i) {
    const StepFigure& figure = report.figures[i];
    json[std::string(kMetricsFigures[i].key)] = {{"median", value_or_null(figure.median)},
                                                 {"lowest", value_or_null(figure.lowest)},
                                                 {"highest", value_or_null(figure.highest)},
                                                 {"predicted", value_or_null(figure.predicted)}};
  }
  return json;
}

Json phases_json(const Report& report) {
  Json json = Json::array();
  if (report.ranks.empty()) return json;
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    std::optional<PhaseTimes> predicted;
    if (report.ranks.front().predicted) predicted = mean_of(report, p, true);
    json.push_back(phase_json(p, mean_of(report, p, false), predicted));
  }
  return json;
}

Json rank_json(const RankReport& rank) {
  const auto of = [&rank](std::size_t phase) -> std::optional<PhaseTimes> {
    if (!rank.predicted) return std::nullopt;
    return (*rank.predicted)[phase];
  };
  Json json = {{"rank", rank.rank.value}, {"pipeline_rank", rank.pp_rank.value}};
  std::optional<PhaseTimes> predicted;
  if (rank.predicted) predicted = whole(*rank.predicted);
  json.update(beside(whole(rank.measured), predicted));
  json["phases"] = Json::array();
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    json["phases"].push_back(phase_json(p, rank.measured[p], of(p)));
  }
  return json;
}

}  // namespace

std::vector<Table> report_tables(const Report& of) {
  const Report report = in_natural_unit(of);
  std::vector<Table> tables = {figures_table(report)};
  if (report.ranks.empty()) return tables;
  tables.push_back(phases_table(report));
  tables.push_back(ranks_table(report));
  if (!report.differences.empty()) tables.push_back(differences_table(report));
  tables.push_back(kinds_table(report));
  return tables;
}

std::string print_report_text(const Report& report, int width) {
  std::string text =
      report.title.empty() ? "" : indented(report.title, 0, static_cast<std::size_t>(width));
  for (const Table& table : report_tables(report)) {
    text += (text.empty() ? "" : "\n") + print_table(table, width);
  }
  return text;
}

std::string print_report_json(const Report& report) {
  Json json = {{"title", report.title},
               {"unit", report.unit},
               {"steps", report.steps},
               {"figures", figures_json(report)},
               {"phases", phases_json(report)}};
  json["ranks"] = Json::array();
  for (const RankReport& rank : report.ranks) json["ranks"].push_back(rank_json(rank));
  json["differences"] = Json::array();
  for (const Difference& difference : report.differences) {
    json["differences"].push_back({{"rank", difference.rank.value},
                                   {"phase", name_of(difference.phase)},
                                   {"part", named(difference.part).key},
                                   {"measured", difference.measured},
                                   {"predicted", difference.predicted},
                                   {"difference", difference.size()}});
  }
  json["kinds"] = Json::array();
  for (const KindReport& kind : report.kinds) {
    json["kinds"].push_back({{"kind", kind.name},
                             {"events", kind.count},
                             {"measured", kind.mean},
                             {"predicted", value_or_null(kind.predicted)}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft
