#include "report/metrics_lines.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& found, const std::string& message) {
  throw UserError(Violation{"metrics-file", found, message});
}

MetricsLine parse_line(std::string_view text, const std::string& place) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    refuse(place,
           "no JSON object: a metrics file holds one a line, as --metrics of `weft train` "
           "writes them");
  }
  if (!json.contains("step") || !json["step"].is_number_integer()) {
    refuse(place, "the key step is missing, or no whole number");
  }
  MetricsLine line;
  line.step = json["step"].get<std::int64_t>();
  for (std::size_t i = 0; i < kNumMetricsFigures; ++i) {
    const std::string key(kMetricsFigures[i].key);
    if (!json.contains(key)) refuse(place, "the key " + key + " is missing");
    if (json[key].is_null()) continue;
    if (!json[key].is_number()) refuse(place, key + " is no number");
    line.figures[i] = json[key].get<double>();
  }
  return line;
}

}  // namespace

std::vector<MetricsLine> parse_metrics(std::string_view text, const std::string& source) {
  std::map<std::int64_t, MetricsLine> lines;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    MetricsLine parsed = parse_line(line, source + ":" + std::to_string(number));
    lines[parsed.step] = std::move(parsed);
  }
  if (lines.empty()) refuse(source, "holds no step");
  std::vector<MetricsLine> steps;
  for (auto& [step, line] : lines) steps.push_back(std::move(line));
  return steps;
}

}  // namespace weft
