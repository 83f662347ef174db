#include "schedule/csv.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr const char* kRule = "schedule-csv";
constexpr std::size_t kMaxViolations = 20;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlank) == std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// PyTorch's lowered files say where a stage's parameters are gathered and dropped again:
// `0UNSHARD`, `0RESHARD`. Here they are never sharded, so there is nothing to do.
bool is_sharding(std::string_view cell) {
  cell.remove_prefix(std::min(cell.find_first_not_of(kBlank), cell.size()));
  cell.remove_suffix(cell.size() - 1 - cell.find_last_not_of(kBlank));
  const std::size_t digits = cell.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::string_view word = cell.substr(digits);
  return word == "UNSHARD" || word == "RESHARD";
}

// Lines and cells are counted from 1, blank cells too, as an editor does.
struct PlacedCell {
  Cell cell;
  std::size_t line = 0;
  std::size_t column = 0;

  std::string place() const {
    return "line " + std::to_string(line) + ", cell " + std::to_string(column);
  }
};

std::vector<std::vector<PlacedCell>> parse_cells(std::string_view text,
                                                 const std::string& file_name) {
  std::vector<std::string_view> lines = split(text, '\n');
  while (!lines.empty() && is_blank(lines.back())) lines.pop_back();
  if (lines.empty()) {
    throw UserError({kRule, file_name, "no rank in it; expected one line per pipeline rank"});
  }
  std::vector<std::vector<PlacedCell>> ranks;
  std::vector<Violation> violations;
  for (std::size_t line = 1; line <= lines.size(); ++line) {
    auto& rank = ranks.emplace_back();
    std::size_t column = 0;
    for (const std::string_view cell : split(lines[line - 1], ',')) {
      ++column;
      if (is_blank(cell) || is_sharding(cell)) continue;
      try {
        rank.push_back({parse_cell(cell), line, column});
      } catch (const UserError& error) {
        const Violation& wrong = error.violations().front();
        violations.push_back({kRule,
                              file_name + ": line " + std::to_string(line) + ", cell " +
                                  std::to_string(column) + ": " + wrong.found,
                              wrong.message});
      }
    }
  }
  if (violations.size() > kMaxViolations) {
    const auto more = std::to_string(violations.size() - kMaxViolations);
    violations.resize(kMaxViolations);
    violations.push_back({kRule, file_name, more + " more cells like these"});
  }
  if (!violations.empty()) throw UserError(std::move(violations));
  return ranks;
}

std::vector<Action> actions_of(const Cell& cell) {
  if (const Action* action = std::get_if<Action>(&cell)) return {*action};
  const ActionPair& pair = std::get<ActionPair>(cell);
  return {pair.forward, pair.backward};
}

// Where each stage is first seen: its rank and the cell.
struct Owner {
  int rank = 0;
  const PlacedCell* cell = nullptr;
};

std::map<int, Owner> stage_owners(const std::vector<std::vector<PlacedCell>>& ranks,
                                  const std::string& file_name) {
  std::map<int, Owner> owners;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const PlacedCell& placed : ranks[rank]) {
      for (const Action& action : actions_of(placed.cell)) {
        const Owner owner{static_cast<int>(rank), &placed};
        const auto [seen, added] = owners.try_emplace(action.stage.value, owner);
        if (added || seen->second.rank == owner.rank) continue;
        throw UserError({kRule,
                         file_name + ": " + placed.place() + ": `" + print(placed.cell) + "`",
                         "stage " + std::to_string(action.stage.value) + " is on " +
                             seen->second.cell->place() + " too; a stage has one rank"});
      }
    }
  }
  return owners;
}

std::optional<StageMap> matching_map(const std::map<int, Owner>& owners, int num_ranks) {
  const int num_stages = static_cast<int>(owners.size());
  for (const Placement placement : {Placement::Looped, Placement::V}) {
    if (placement == Placement::V && num_stages != 2 * num_ranks) continue;
    const StageMap map{num_ranks, num_stages / num_ranks, placement};
    const bool fits = std::all_of(owners.begin(), owners.end(), [&](const auto& entry) {
      return map.rank_of(Stage(entry.first)) == Rank(entry.second.rank);
    });
    if (fits) return map;
  }
  return std::nullopt;
}

StageMap infer_map(const std::vector<std::vector<PlacedCell>>& ranks,
                   const std::string& file_name) {
  const std::map<int, Owner> owners = stage_owners(ranks, file_name);
  const int num_ranks = static_cast<int>(ranks.size());
  for (int rank = 0; rank < num_ranks; ++rank) {
    if (!ranks[rank].empty()) continue;
    throw UserError({kRule, file_name + ": line " + std::to_string(rank + 1),
                     "a rank without an action; expected one line per pipeline rank"});
  }
  int expected = 0;
  for (const auto& [stage, owner] : owners) {
    if (stage == expected++) continue;
    throw UserError({kRule,
                     file_name + ": " + owner.cell->place() + ": `" + print(owner.cell->cell) + "`",
                     "stage " + std::to_string(expected - 1) +
                         " is on no rank; stages are numbered from 0 along the model"});
  }
  if (expected % num_ranks == 0) {
    if (const auto map = matching_map(owners, num_ranks)) return *map;
  }
  std::string found;
  for (const auto& [stage, owner] : owners) {
    if (!found.empty()) found += ", ";
    found += std::to_string(stage) + " on rank " + std::to_string(owner.rank);
  }
  throw UserError({kRule, file_name + ": stages " + found,
                   "expected stage s on rank s % " + std::to_string(num_ranks) +
                       " (looped) or ranks 0.." + std::to_string(num_ranks - 1) +
                       " and back again (V)"});
}

// Far more forwards than the file has actions are missing for certain; refusing that here keeps
// what is allocated later in proportion to the file. Smaller gaps are for the verifiers.
int count_micro_batches(const std::vector<std::vector<PlacedCell>>& ranks, int num_stages,
                        const std::string& file_name) {
  constexpr std::int64_t kMostPerAction = 4;
  std::int64_t num_actions = 0;
  int highest = 0;
  const PlacedCell* where = nullptr;
  for (const auto& rank : ranks) {
    for (const PlacedCell& placed : rank) {
      for (const Action& action : actions_of(placed.cell)) {
        ++num_actions;
        if (where != nullptr && action.micro_batch.value <= highest) continue;
        highest = action.micro_batch.value;
        where = &placed;
      }
    }
  }
  const std::int64_t forwards = (std::int64_t{highest} + 1) * num_stages;
  if (forwards <= kMostPerAction * num_actions) return highest + 1;
  throw UserError({kRule, file_name + ": " + where->place() + ": `" + print(where->cell) + "`",
                   "micro-batches are numbered from 0 without gaps; up to this one they make " +
                       std::to_string(forwards) + " forwards, and the file has just " +
                       std::to_string(num_actions) + " actions"});
}

}  // namespace

std::string print_csv(const Schedule& schedule) {
  std::string text;
  for (const auto& cells : schedule.ranks) {
    std::string_view separator;
    for (const Cell& cell : cells) {
      text.append(separator).append(print(cell));
      separator = ",";
    }
    text += '\n';
  }
  return text;
}

Schedule parse_csv(std::string_view text, const std::string& file_name) {
  const auto placed = parse_cells(without_byte_order_mark(text), file_name);
  const StageMap map = infer_map(placed, file_name);
  Schedule schedule{map, count_micro_batches(placed, map.num_stages(), file_name), {}};
  for (const auto& rank : placed) {
    auto& cells = schedule.ranks.emplace_back();
    for (const PlacedCell& at : rank) cells.push_back(at.cell);
  }
  return schedule;
}

Schedule read_csv(const std::string& file_name) {
  return parse_csv(read_file(file_name, "--schedules-method"), file_name);
}

}  // namespace weft
