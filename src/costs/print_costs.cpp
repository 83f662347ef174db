#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "costs/costs_toml.h"
#include "schedule/text.h"

namespace weft {
namespace {

template <class Three>
std::string print_three(const Three& cost) {
  return fmt::format("{{ forward = {}, dgrad = {}, wgrad = {} }}", cost.forward, cost.dgrad,
                     cost.wgrad);
}

// What is 0 is left out, dgrad where it is as backward.
std::string print_kept(const KeptBytes& bytes) {
  std::string parts;
  for (const auto& [name, member] : kKeptParts) {
    const bool is_dgrad = member == &KeptBytes::dgrad;
    if (bytes.*member == (is_dgrad ? bytes.backward : 0)) continue;
    parts += fmt::format("{}{} = {}", parts.empty() ? "" : ", ", name, bytes.*member);
  }
  return parts.empty() ? "{}" : "{ " + parts + " }";
}

std::string print_bytes(const CostBytes& bytes) {
  std::string out;
  if (bytes.stage) out += fmt::format("\n[bytes]\nstage = {}\n", print_kept(*bytes.stage));
  if (!bytes.stages.empty()) out += "\n[bytes.stages]\n";
  for (const auto& [stage, kept] : bytes.stages) {
    out += fmt::format("{} = {}\n", stage, print_kept(kept));
  }
  if (!bytes.segments.empty()) out += "\n[bytes.segments]\n";
  for (const auto& [key, kept] : bytes.segments) {
    out += fmt::format("{} = {}\n", name_of(key), print_kept(kept));
  }
  return out;
}

std::string print_link(std::string_view name, const LinkRate& link) {
  return fmt::format("{} = {{ gb_per_s = {}, latency_us = {} }}\n", name, link.gb_per_s,
                     link.latency_us);
}

std::string print_rates(const Rates& rates) {
  return fmt::format("\n[device]\ntflops = {}\nmemory_gb_per_s = {}\noverhead_us = {}\n",
                     rates.tflops, rates.memory_gb_per_s, rates.overhead_us) +
         "\n[links]\n" + print_link("expert", rates.expert) +
         print_link("pipeline", rates.pipeline) + print_link("data", rates.data);
}

std::string quoted(const std::string& text) {
  std::ostringstream out;
  const toml::value<std::string> value(text);
  out << toml::toml_formatter(value, toml::format_flags::none);
  return out.str();
}

}  // namespace

std::string print_costs(const Costs& costs) {
  std::string out = fmt::format("unit = {}\np2p = {}\n", quoted(costs.unit), costs.p2p);
  if (costs.pair) out += fmt::format("pair = {}\n", *costs.pair);
  out += fmt::format("stage = {}\n", print_three(costs.stage));
  if (!costs.stages.empty()) out += "\n[stages]\n";
  for (const auto& [stage, cost] : costs.stages) {
    out += fmt::format("{} = {}\n", stage, print_three(cost));
  }
  if (!costs.segments.empty()) out += "\n[segments]\n";
  for (const auto& [key, cost] : costs.segments) {
    out += fmt::format("{} = {}\n", name_of(key), print_three(cost));
  }
  if (!costs.wires.empty()) out += "\n[wires]\n";
  for (const auto& [kind, cost] : costs.wires) {
    out += fmt::format("{} = {}\n", wire_name(kind), cost);
  }
  if (costs.rates) out += print_rates(*costs.rates);
  return out + print_bytes(costs.bytes);
}

}  // namespace weft
