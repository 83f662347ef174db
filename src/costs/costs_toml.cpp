#include "costs/costs_toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "schedule/text.h"

namespace weft {
namespace {

// Keeps sums over whole plans finite; the flags of single costs have the same limit.
constexpr double kMaxCost = 1e15;
constexpr double kLowestRate = 1e-6;

const std::vector<SegmentKey>& all_segments() {
  static const std::vector<SegmentKey> kKeys = {
      {SegmentKind::Embedding, false},     {SegmentKind::Attention, false},
      {SegmentKind::Attention, true},      {SegmentKind::Mlp, false},
      {SegmentKind::SharedExpert, true},   {SegmentKind::Experts, true},
      {SegmentKind::Merge, true},          {SegmentKind::Head, false},
      {SegmentKind::MtpProjection, false}, {SegmentKind::MtpHead, false},
      {SegmentKind::Identity, false}};
  return kKeys;
}

const std::vector<WireKind>& all_wires() {
  static const std::vector<WireKind> kKinds = {
      WireKind::Counts,          WireKind::Dispatch,         WireKind::Combine,
      WireKind::CombineBackward, WireKind::DispatchBackward, WireKind::SendForward,
      WireKind::RecvForward,     WireKind::SendBackward,     WireKind::RecvBackward,
      WireKind::ReduceGrad,      WireKind::GatherGrad};
  return kKinds;
}

std::string name_of(WireKind kind) { return std::string(wire_name(kind)); }

template <class T>
std::string joined_names(const std::vector<T>& values) {
  std::string names;
  for (const T& value : values) names += (names.empty() ? "" : ", ") + name_of(value);
  return names;
}

// Walks a parsed file, gathering every violation before it throws.
class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  Costs read(const toml::table& root) {
    Costs costs;
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      if (name == "unit") {
        read_unit(node, costs.unit);
      } else if (name == "p2p") {
        read_number(name, node, costs.p2p);
      } else if (name == "pair") {
        double pair = 0;
        if (read_number(name, node, pair)) costs.pair = pair;
      } else if (name == "stage") {
        read_three(name, node, costs.stage);
      } else if (name == "stages") {
        read_by_stage(name, node, [&](const std::string& at, const toml::node& entry, int stage) {
          read_three(at, entry, costs.stages.try_emplace(stage, costs.stage).first->second);
        });
      } else if (name == "segments") {
        read_by_segment(name, node,
                        [&](const std::string& at, const toml::node& entry, SegmentKey segment) {
                          read_three(at, entry, costs.segments[segment]);
                        });
      } else if (name == "wires") {
        read_wires(node, costs);
      } else if (name == "device") {
        read_device(node, rates_of(costs));
      } else if (name == "links") {
        read_links(node, rates_of(costs));
      } else if (name == "bytes") {
        read_bytes(node, costs.bytes);
      } else {
        unknown(name, node,
                "unit, p2p, pair, stage, stages, segments, wires, device, links, bytes");
      }
    }
    check_rates(root, costs);
    if (!violations_.empty()) throw UserError(violations_);
    return costs;
  }

 private:
  void wrong(const std::string& key, const toml::node& node, const std::string& message) {
    std::ostringstream value;
    node.visit([&value](const auto& n) { value << n; });
    violations_.push_back(
        {"costs-file",
         fmt::format("{}:{}: {} = {}", source_, node.source().begin.line, key, value.str()),
         message});
  }

  void unknown(const std::string& key, const toml::node& node, const std::string& names) {
    wrong(key, node, "no such key; the keys here are " + names);
  }

  void read_unit(const toml::node& node, std::string& unit) {
    const auto* text = node.as_string();
    if (text == nullptr || text->get().empty()) {
      wrong("unit", node, "must be a text such as \"ms\"");
    } else {
      unit = text->get();
    }
  }

  bool read_number(const std::string& key, const toml::node& node, double& value) {
    const auto number = node.is_number() ? node.value<double>() : std::nullopt;
    if (!number || !(*number >= 0 && *number <= kMaxCost)) {
      wrong(key, node, "must be a number from 0 to 1e15");
      return false;
    }
    value = *number;
    return true;
  }

  const toml::table* table_at(const std::string& key, const toml::node& node) {
    if (!node.is_table()) wrong(key, node, "must be a table");
    return node.as_table();
  }

  // StageCost or SegmentCost; what is not given keeps its default of 1.
  template <class Three>
  void read_three(const std::string& key, const toml::node& node, Three& cost) {
    const toml::table* table = table_at(key, node);
    if (table == nullptr) return;
    for (const auto& [part, value] : *table) {
      const std::string name = key + "." + std::string(part.str());
      if (part.str() == "forward") {
        read_number(name, value, cost.forward);
      } else if (part.str() == "dgrad") {
        read_number(name, value, cost.dgrad);
      } else if (part.str() == "wgrad") {
        read_number(name, value, cost.wgrad);
      } else {
        unknown(name, value, "forward, dgrad, wgrad");
      }
    }
  }

  void read_count(const std::string& key, const toml::node& node, std::int64_t& value) {
    const auto number = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
    if (!number || *number < 0 || *number > kMaxKeptBytes) {
      wrong(key, node, "must be a whole number of bytes from 0 to 5e11");
      return;
    }
    value = *number;
  }

  void read_kept(const std::string& key, const toml::node& node, KeptBytes& bytes) {
    const toml::table* table = table_at(key, node);
    if (table == nullptr) return;
    bytes = {};
    for (const auto& [part, value] : *table) {
      const std::string name = key + "." + std::string(part.str());
      const auto known = std::ranges::find(kKeptParts, part.str(), &KeptPart::name);
      if (known == std::end(kKeptParts)) {
        unknown(name, value, "activation, wgrad, forward, backward, dgrad");
      } else {
        read_count(name, value, bytes.*known->member);
      }
    }
    if (!table->contains("dgrad")) bytes.dgrad = bytes.backward;
  }

  // Calls read(name, value, stage) for each entry of a table by stage.
  template <class Read>
  void read_by_stage(const std::string& key, const toml::node& node, Read read) {
    const toml::table* table = table_at(key, node);
    if (table == nullptr) return;
    for (const auto& [stage_key, value] : *table) {
      const std::string_view text = stage_key.str();
      int stage = -1;
      const auto end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data(), end, stage);
      const std::string name = key + "." + std::string(text);
      if (parsed.ec != std::errc() || parsed.ptr != end || stage < 0) {
        wrong(name, value, "stages are numbers from 0");
      } else {
        read(name, value, stage);
      }
    }
  }

  // The same by segment.
  template <class Read>
  void read_by_segment(const std::string& key, const toml::node& node, Read read) {
    const toml::table* table = table_at(key, node);
    if (table == nullptr) return;
    for (const auto& [segment_key, value] : *table) {
      const std::string name = key + "." + std::string(segment_key.str());
      const auto known = std::ranges::find_if(all_segments(), [&](const SegmentKey& segment) {
        return segment_key.str() == name_of(segment);
      });
      if (known == all_segments().end()) {
        unknown(name, value, joined_names(all_segments()));
      } else {
        read(name, value, *known);
      }
    }
  }

  void read_bytes(const toml::node& node, CostBytes& bytes) {
    const toml::table* table = table_at("bytes", node);
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const std::string name = "bytes." + std::string(key.str());
      if (key.str() == "stage") {
        read_kept(name, value, bytes.stage.emplace());
      } else if (key.str() == "stages") {
        read_by_stage(name, value, [&](const std::string& at, const toml::node& entry, int stage) {
          read_kept(at, entry, bytes.stages[stage]);
        });
      } else if (key.str() == "segments") {
        read_by_segment(name, value,
                        [&](const std::string& at, const toml::node& entry, SegmentKey segment) {
                          read_kept(at, entry, bytes.segments[segment]);
                        });
      } else {
        unknown(name, value, "stage, stages, segments");
      }
    }
  }

  void read_wires(const toml::node& node, Costs& costs) {
    const toml::table* table = table_at("wires", node);
    if (table == nullptr) return;
    for (const auto& [key, value] : *table) {
      const std::string name = "wires." + std::string(key.str());
      bool known = false;
      for (const WireKind kind : all_wires()) {
        if (key.str() != name_of(kind)) continue;
        known = true;
        read_number(name, value, costs.wires[kind]);
      }
      if (!known) unknown(name, value, joined_names(all_wires()));
    }
  }

  static Rates& rates_of(Costs& costs) {
    if (!costs.rates) costs.rates.emplace();
    return *costs.rates;
  }

  using Numbers = std::vector<std::pair<std::string_view, double*>>;

  static std::string names_in(const Numbers& numbers) {
    std::string names;
    for (const auto& known : numbers) {
      names += (names.empty() ? "" : ", ") + std::string(known.first);
    }
    return names;
  }

  // A table of numbers by name, all of which have to be there.
  void read_numbers(const std::string& key, const toml::node& node, const Numbers& numbers) {
    const toml::table* table = table_at(key, node);
    if (table == nullptr) return;
    for (const auto& [part, value] : *table) {
      const std::string name = key + "." + std::string(part.str());
      const auto number =
          std::ranges::find(numbers, part.str(), [](const auto& x) { return x.first; });
      if (number != numbers.end()) {
        read_number(name, value, *number->second);
      } else {
        unknown(name, value, names_in(numbers));
      }
    }
    for (const auto& known : numbers) {
      if (!table->contains(known.first)) missing(node, key + "." + std::string(known.first));
    }
  }

  void read_device(const toml::node& node, Rates& rates) {
    read_numbers("device", node,
                 {{"tflops", &rates.tflops},
                  {"memory_gb_per_s", &rates.memory_gb_per_s},
                  {"overhead_us", &rates.overhead_us}});
    check_rate("device.tflops", node, rates.tflops);
    check_rate("device.memory_gb_per_s", node, rates.memory_gb_per_s);
  }

  void read_links(const toml::node& node, Rates& rates) {
    const toml::table* table = table_at("links", node);
    if (table == nullptr) return;
    const std::vector<std::pair<std::string_view, LinkRate*>> links = {
        {"expert", &rates.expert}, {"pipeline", &rates.pipeline}, {"data", &rates.data}};
    for (const auto& [key, value] : *table) {
      const std::string name = "links." + std::string(key.str());
      const auto link = std::ranges::find(links, key.str(), [](const auto& x) { return x.first; });
      if (link == links.end()) {
        unknown(name, value, "expert, pipeline, data");
        continue;
      }
      read_numbers(
          name, value,
          {{"gb_per_s", &link->second->gb_per_s}, {"latency_us", &link->second->latency_us}});
      check_rate(name + ".gb_per_s", value, link->second->gb_per_s);
    }
    for (const auto& link : links) {
      if (!table->contains(link.first)) missing(node, "links." + std::string(link.first));
    }
  }

  void missing(const toml::node& node, const std::string& key) {
    violations_.push_back(
        {"costs-file", fmt::format("{}:{}: {} is missing", source_, node.source().begin.line, key),
         "give all of a device and of its links"});
  }

  void check_rate(const std::string& key, const toml::node& node, double value) {
    if (value >= kLowestRate) return;
    violations_.push_back(
        {"costs-file", fmt::format("{}:{}: {} = {}", source_, node.source().begin.line, key, value),
         "must be at least 1e-6"});
  }

  // Rates give ms, and each half of a plan's times has to come from somewhere.
  void check_rates(const toml::table& root, Costs& costs) {
    if (!costs.rates) return;
    const auto refuse = [this](const std::string& found, const std::string& message) {
      violations_.push_back({"costs-file", source_ + ": " + found, message});
    };
    if (root.contains("unit") && costs.unit != "ms") {
      refuse("unit = " + costs.unit, "times that follow from [device] and [links] are in ms");
    }
    costs.unit = "ms";
    if (!root.contains("device") && costs.segments.empty()) {
      refuse("[links] alone", "give the compute too, by [device] or by [segments]");
    }
    if (!root.contains("links") && costs.wires.empty()) {
      refuse("[device] alone", "give the wires too, by [links] or by [wires]");
    }
  }

  std::string source_;
  std::vector<Violation> violations_;
};

}  // namespace

Costs parse_costs(std::string_view text, const std::string& source) {
  try {
    return Reader(source).read(toml::parse(text, source));
  } catch (const toml::parse_error& error) {
    throw UserError(Violation{"costs-file", fmt::format("{}:{}", source, error.source().begin.line),
                              fmt::format("not TOML: {}", error.description())});
  }
}

Costs read_costs(const std::string& path) { return parse_costs(read_file(path, "--costs"), path); }

}  // namespace weft
