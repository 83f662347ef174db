#include "cli/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/columns.h"
#include "base/error.h"
#include "base/times.h"
#include "schedule/text.h"
#include "timeline/grid.h"
#include "timeline/tracks.h"

namespace weft {
namespace {

void append(std::string& text, const std::string& word) {
  text += (text.empty() ? "" : " ") + word;
}

bool is_receive(const Action& action) {
  return action.kind == ActionKind::RecvForward || action.kind == ActionKind::RecvBackward;
}

// `0F3`: the micro-batch's activations, or `0B3`: their gradients, that stage 0 sends or receives;
// `0R`: the stage's gradients are summed.
std::string transfer_text(const Action& action) {
  if (action.kind == ActionKind::ReduceGrad) return fmt::format("{}R", action.stage.value);
  const bool forward =
      action.kind == ActionKind::SendForward || action.kind == ActionKind::RecvForward;
  return fmt::format("{}{}{}", action.stage.value, forward ? 'F' : 'B', action.micro_batch.value);
}

// The rank's cells with times; marks of a cell that takes none go to its neighbour.
GridRow transfers_row(int rank, const std::vector<Cell>& cells, const RankTimeline& timeline) {
  GridRow row{fmt::format("rank {}", rank), {}, "  receive", "  send"};
  auto event = timeline.events.begin();
  std::string above, below;
  int last_drawn = -1;
  for (const Cell& cell : cells) {
    const auto* action = std::get_if<Action>(&cell);
    if (action != nullptr && !is_compute(action->kind)) {
      std::string& early = is_receive(*action) ? above : below;
      const bool behind = !is_receive(*action) && last_drawn >= 0;
      append(behind ? row.cells[static_cast<std::size_t>(last_drawn)].below : early,
             transfer_text(*action));
      continue;
    }
    event = std::find_if(event, timeline.events.end(), is_work);
    weft_assert(event != timeline.events.end(), "an event for each compute cell");
    GridCell& drawn =
        row.cells.emplace_back(GridCell{event->start, event->end, short_text(*event)});
    ++event;
    if (drawn.end <= drawn.start) continue;
    last_drawn = static_cast<int>(row.cells.size()) - 1;
    drawn.above = std::move(above);
    drawn.below = std::move(below);
    above.clear();
    below.clear();
  }
  return row;
}

// The step's text without the name of its cell; what is left of a backward's tells dgrad and wgrad
// apart.
std::string step_text(const Step& step, const StepSpan& span) {
  std::string text = print(step);
  const auto* action = std::get_if<Action>(&span.cell);
  if (action == nullptr) return text;
  static constexpr std::array<std::pair<char, const char*>, 4> kShort = {
      {{'F', ""}, {'B', ""}, {'I', "I:"}, {'W', "W:"}}};
  for (const auto& [operation, left] : kShort) {
    const std::string name =
        fmt::format("{}{}{}:", action->stage.value, operation, action->micro_batch.value);
    const std::size_t at = text.find(name);
    if (at == 0 || (at != std::string::npos && text[at - 1] == '(')) {
      return text.replace(at, name.size(), left);
    }
  }
  return text;
}

std::string cell_text(const StepSpan& span) {
  std::string text = short_text(Event{Lane::Compute, span.cell, 0, 0, std::nullopt});
  for (const Action& action : span.joined) text += ";" + print(action);
  return text;
}

bool computes(const Step& step) {
  return std::holds_alternative<RunForward>(step) || std::holds_alternative<RunDgrad>(step) ||
         std::holds_alternative<RunWgrad>(step);
}

}  // namespace

std::string transfers_text(const Schedule& transfers, const Timeline& compute, int width) {
  std::vector<GridRow> rows;
  for (std::size_t r = 0; r < transfers.ranks.size(); ++r) {
    rows.push_back(transfers_row(static_cast<int>(r), transfers.ranks[r], compute.ranks.at(r)));
  }
  return print_grid(rows, width) +
         indented(
             "receive: posted before the cell below it; send: started behind the cell above "
             "it; F activations, B their gradients, R sums of weight gradients",
             0, static_cast<std::size_t>(width));
}

std::string steps_text(const StepPlan& plan, const Timeline& timeline, int width) {
  double end = 0;
  for (const RankTimeline& rank : timeline.ranks) end = std::max(end, rank.end);
  const TimeScale scale = time_scale(end, timeline.unit);
  std::string text;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const RankSteps& rank = plan.ranks[r];
    std::vector<std::vector<std::string>> rows = {{scale.unit, "cell", "steps"}};
    std::size_t time_size = scale.unit.size(), cell_size = 4;
    const std::vector<Event>& events = timeline.ranks.at(r).events;
    auto event = std::find_if(events.begin(), events.end(), is_work);
    double done = 0;  // when the last step so far ended
    for (const StepSpan& span : rank.spans) {
      std::optional<double> start;
      std::string steps;
      for (std::size_t i = span.first; i < span.first + span.count; ++i) {
        append(steps, step_text(rank.steps[i], span));
        if (!computes(rank.steps[i]) || event == events.end()) continue;
        if (!start) start = event->start;
        done = event->end;
        event = std::find_if(event + 1, events.end(), is_work);
      }
      rows.push_back({scale.text(start.value_or(done)), cell_text(span), steps});
      time_size = std::max(time_size, rows.back()[0].size());
      cell_size = std::max(cell_size, rows.back()[1].size());
    }
    const std::size_t left = time_size + cell_size + 4;
    const std::size_t room =
        std::max<std::size_t>(static_cast<std::size_t>(width), left + 24) - left;
    text += (r == 0 ? "" : "\n") + fmt::format("rank {}\n", r) +
            print_columns(rows, {time_size, cell_size, room});
  }
  return text;
}

}  // namespace weft
