#include "passes/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "schedule/text.h"

namespace weft {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kGap = 2;
constexpr int kBeside = 1;  // entries shown on either side of a marked one

// a, b, ... z, aa, ab, ...
std::string letter(std::size_t index) {
  std::string text(1, static_cast<char>('a' + index % 26));
  return index < 26 ? text : letter(index / 26 - 1) + text;
}

// One column of a grid: its head and the texts of the rows that have something there.
struct Column {
  std::string head;
  std::map<int, std::string> cells;  // by list
  std::vector<int> marked;           // lists

  std::size_t width() const {
    std::size_t width = head.size();
    for (const auto& [list, text] : cells) width = std::max(width, text.size());
    return width;
  }
};

void append_padded(std::string& line, const std::string& text, std::size_t width) {
  line += text;
  line.append(width - text.size() + kGap, ' ');
}

void end_line(std::string& block, std::string line) {
  while (line.ends_with(' ')) line.pop_back();
  block += (block.empty() ? "" : "\n") + line;
}

// The columns [first, last) under each other, with the rows that are marked in one of them.
std::string print_block(const std::vector<Column>& columns, std::size_t first, std::size_t last,
                        const std::string& head, const std::function<std::string(int)>& row_name) {
  std::vector<int> rows;
  for (std::size_t c = first; c < last; ++c) {
    rows.insert(rows.end(), columns[c].marked.begin(), columns[c].marked.end());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::size_t label_width = head.size();
  for (int row : rows) label_width = std::max(label_width, row_name(row).size());
  std::string block;
  std::string line;
  append_padded(line, head, label_width);
  for (std::size_t c = first; c < last; ++c) {
    append_padded(line, columns[c].head, columns[c].width());
  }
  end_line(block, line);
  for (int row : rows) {
    line.clear();
    append_padded(line, row_name(row), label_width);
    for (std::size_t c = first; c < last; ++c) {
      const auto cell = columns[c].cells.find(row);
      append_padded(line, cell == columns[c].cells.end() ? "" : cell->second, columns[c].width());
    }
    end_line(block, line);
  }
  return block;
}

std::string entry_of(const RankSteps& rank, int index) { return print(rank.steps[index]); }

}  // namespace

PlanText::PlanText(const Schedule& schedule)
    : list_noun_("rank"),
      entry_noun_("cell"),
      entry_([&schedule](Place p) { return print(schedule.ranks[p.list][p.index]); }) {
  for (const auto& cells : schedule.ranks) sizes_.push_back(static_cast<int>(cells.size()));
}

PlanText::PlanText(const StepPlan& plan) : PlanText(plan.ranks) { list_noun_ = "rank"; }

PlanText::PlanText(const std::vector<RankSteps>& group)
    : list_noun_("member"),
      entry_noun_("step"),
      entry_([&group](Place p) { return entry_of(group[p.list], p.index); }) {
  for (const RankSteps& rank : group) sizes_.push_back(static_cast<int>(rank.steps.size()));
}

std::string PlanText::name(Place place) const {
  return fmt::format("{} {} {} {} ({})", list_noun_, place.list, entry_noun_, place.index + 1,
                     entry_(place));
}

std::string PlanText::grid(const std::vector<Place>& marked) const {
  std::map<Place, std::string> letters;
  for (const Place& place : marked) letters.try_emplace(place, letter(letters.size()));
  std::map<int, Column> by_index;
  for (const auto& [place, unused] : letters) {
    for (int i = place.index - kBeside; i <= place.index + kBeside; ++i) by_index[i];
  }
  std::vector<Column> columns;
  std::optional<int> before;
  for (auto& [index, column] : by_index) {
    for (const auto& [place, unused] : letters) {
      const Place here{place.list, index};
      if (index < 0 || index >= sizes_[place.list] || column.cells.contains(here.list)) continue;
      const auto mark = letters.find(here);
      const std::string text = entry_(here);
      column.cells[here.list] = mark == letters.end() ? text : "[" + text + "]" + mark->second;
      if (mark != letters.end()) column.marked.push_back(here.list);
    }
    if (column.cells.empty()) continue;
    if (before && index > *before + 1) columns.push_back({"..", {}, {}});
    column.head = std::to_string(index + 1);
    columns.push_back(std::move(column));
    before = index;
  }
  std::size_t label_width = entry_noun_.size();
  const auto row_name = [this](int row) { return list_noun_ + " " + std::to_string(row); };
  for (const auto& [place, unused] : letters) {
    label_width = std::max(label_width, row_name(place.list).size());
  }
  std::string text;
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t width = label_width;
    std::size_t last = first;
    while (last < columns.size() &&
           (last == first || width + kGap + columns[last].width() <= kWidth)) {
      width += kGap + columns[last++].width();
    }
    const bool any = std::any_of(columns.begin() + static_cast<std::ptrdiff_t>(first),
                                 columns.begin() + static_cast<std::ptrdiff_t>(last),
                                 [](const Column& column) { return !column.marked.empty(); });
    if (any) {
      text += (text.empty() ? "" : "\n") + print_block(columns, first, last, entry_noun_, row_name);
    }
    first = last;
  }
  return text;
}

void FindingList::add(const std::string& message, const std::vector<Place>& marked) {
  findings_.push_back({verifier_, marked.empty() ? message : message + "\n" + text_.grid(marked)});
}

void FindingList::add_cycle(const std::string& what, const std::vector<CycleLink>& cycle,
                            const std::function<Place(Place)>& place_of) {
  const auto plan_place = [&](Place p) { return place_of ? place_of(p) : p; };
  std::string text;
  std::vector<Place> marked;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Place next = cycle[(i + 1) % cycle.size()].place;
    const Place here = plan_place(cycle[i].place);
    const Place need = plan_place(cycle[i].need);
    text += (i == 0 ? ": " : "; ") + text_.name(here) + " needs " + text_.name(need);
    if (cycle[i].need != next) text += ", which comes after " + text_.name(plan_place(next));
    marked.push_back(here);
    marked.push_back(need);
  }
  add(what + text, marked);
}

void FindingList::add_deadlock(const std::string& what, const WaitGraph& graph,
                               const std::function<Place(Place)>& place_of) {
  const std::vector<CycleLink> cycle = find_deadlock(graph);
  if (!cycle.empty()) add_cycle(what, cycle, place_of);
}

}  // namespace weft
