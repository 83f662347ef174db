#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "passes/cell_times.h"
#include "passes/deadlock.h"
#include "passes/plan_text.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kAbsent = -1;

// The four kinds of compute actions, in the order of the enumeration.
constexpr std::size_t kNumKinds = 4;
static_assert(is_compute(ActionKind{kNumKinds - 1}) && !is_compute(ActionKind{kNumKinds}));

// Where each compute action stands; of one that stands twice the first place.
class ActionPlaces {
 public:
  explicit ActionPlaces(const Schedule& schedule)
      : schedule_(schedule),
        num_micro_batches_(std::max(0, schedule.num_micro_batches)),
        places_(kNumKinds * schedule.map.num_stages() * num_micro_batches_, kAbsent) {
    for_each_at_home([&](Place place, const Action& action) {
      if (at(action) == kAbsent) at(action) = place.index;
    });
  }

  // Calls visit(place, action) for every compute action on the rank of its stage.
  template <class Visit>
  void for_each_at_home(Visit visit) const {
    for_each([&](Place place, const Action& action) {
      if (is_at_home(place, action)) visit(place, action);
    });
  }

  // Calls visit(place, action) for every compute action of the ranks that the map has.
  template <class Visit>
  void for_each(Visit visit) const {
    const std::size_t lists =
        std::min<std::size_t>(schedule_.ranks.size(), schedule_.map.num_ranks);
    for (std::size_t rank = 0; rank < lists; ++rank) {
      for (std::size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        const Place place{static_cast<int>(rank), static_cast<int>(i)};
        const Cell& cell = schedule_.ranks[rank][i];
        if (const ActionPair* pair = std::get_if<ActionPair>(&cell)) {
          if (is_compute(pair->forward.kind)) visit(place, pair->forward);
          if (is_compute(pair->backward.kind)) visit(place, pair->backward);
        } else if (const Action& action = std::get<Action>(cell); is_compute(action.kind)) {
          visit(place, action);
        }
      }
    }
  }

  bool has(Stage s) const { return s.value >= 0 && s.value < schedule_.map.num_stages(); }
  bool has(MicroBatch m) const { return m.value >= 0 && m.value < schedule_.num_micro_batches; }
  bool is_at_home(Place place, const Action& action) const {
    return has(action.stage) && has(action.micro_batch) &&
           schedule_.map.rank_of(action.stage).value == place.list;
  }

  // Empty if it is nowhere, or there is no such stage or micro-batch.
  std::optional<Place> find(ActionKind kind, Stage s, MicroBatch m) const {
    if (!has(s) || !has(m)) return std::nullopt;
    const int index = places_[slot({kind, s, m})];
    if (index == kAbsent) return std::nullopt;
    return Place{schedule_.map.rank_of(s).value, index};
  }
  // The I, or else the B.
  std::optional<Place> find_gradient(Stage s, MicroBatch m) const {
    const auto split = find(ActionKind::Dgrad, s, m);
    return split ? split : find(ActionKind::Backward, s, m);
  }

 private:
  std::size_t slot(const Action& action) const {
    const auto row =
        static_cast<std::size_t>(action.kind) * schedule_.map.num_stages() + action.stage.value;
    return row * num_micro_batches_ + action.micro_batch.value;
  }
  int& at(const Action& action) { return places_[slot(action)]; }

  const Schedule& schedule_;
  const std::size_t num_micro_batches_;
  std::vector<int> places_;  // [kind, stage, micro-batch]: index of the cell on the stage's rank
};

class OnceVerifier {
 public:
  OnceVerifier(const Schedule& schedule, bool forward_only)
      : schedule_(schedule), forward_only_(forward_only), places_(schedule) {}

  std::vector<Finding> run() {
    if (static_cast<int>(schedule_.ranks.size()) != schedule_.map.num_ranks) {
      findings_.add(
          fmt::format("{} lists for {} ranks", schedule_.ranks.size(), schedule_.map.num_ranks));
      return findings_.take();
    }
    places_.for_each([this](Place place, const Action& action) {
      check_pair(place, action);
      check_place(place, action);
    });
    for (int s = 0; s < schedule_.map.num_stages(); ++s) {
      for (int m = 0; m < schedule_.num_micro_batches; ++m) check_complete(Stage(s), MicroBatch(m));
    }
    return findings_.take();
  }

 private:
  // A pair is seen at its first half.
  void check_pair(Place place, const Action& half) {
    const auto* pair = std::get_if<ActionPair>(&schedule_.ranks[place.list][place.index]);
    if (pair == nullptr || half != pair->forward) return;
    const bool backward =
        pair->backward.kind == ActionKind::Backward || pair->backward.kind == ActionKind::Dgrad;
    if (pair->forward.kind == ActionKind::Forward && backward) return;
    add_at(place, "a pair is one F and one B or I");
  }

  void check_place(Place place, const Action& action) {
    const StageMap& map = schedule_.map;
    if (!places_.has(action.stage)) {
      add_at(place, "there is no stage {}, the last one is {}", action.stage.value,
             map.num_stages() - 1);
    } else if (!places_.has(action.micro_batch)) {
      add_at(place, "there is no micro-batch {}, the last one is {}", action.micro_batch.value,
             schedule_.num_micro_batches - 1);
    } else if (!places_.is_at_home(place, action)) {
      add_at(place, "stage {} is on rank {}", action.stage.value, map.rank_of(action.stage).value);
    } else if (forward_only_ && action.kind != ActionKind::Forward) {
      add_at(place, "a plan of forwards only has no backward");
    } else if (const Place first =
                   places_.find(action.kind, action.stage, action.micro_batch).value();
               first != place) {
      findings_.add(fmt::format("{}: {} stands at {} already", text_.name(place), print(action),
                                text_.name(first)),
                    {first, place});
    }
  }

  template <class... T>
  void add_at(Place place, fmt::format_string<T...> format, T&&... values) {
    findings_.add(text_.name(place) + ": " + fmt::format(format, std::forward<T>(values)...),
                  {place});
  }

  void check_complete(Stage s, MicroBatch m) {
    const auto text = [&](ActionKind kind) { return print(Action{kind, s, m}); };
    const auto find = [&](ActionKind kind) { return places_.find(kind, s, m); };
    const int rank = schedule_.map.rank_of(s).value;
    if (!find(ActionKind::Forward)) {
      findings_.add(fmt::format("rank {}: {} is missing", rank, text(ActionKind::Forward)));
    }
    if (forward_only_) return;
    const auto backward = find(ActionKind::Backward);
    const auto dgrad = find(ActionKind::Dgrad);
    const auto wgrad = find(ActionKind::Wgrad);
    if (!backward && !dgrad) {
      findings_.add(fmt::format("rank {}: {} is missing, or {} with {}", rank,
                                text(ActionKind::Backward), text(ActionKind::Dgrad),
                                text(ActionKind::Wgrad)));
    }
    if (backward && dgrad) {
      findings_.add(fmt::format("{}: its input gradient is computed by {} too",
                                text_.name(*backward), text_.name(*dgrad)),
                    {*backward, *dgrad});
    }
    if (backward && wgrad) {
      findings_.add(fmt::format("{}: its weight gradients are computed by {} too",
                                text_.name(*backward), text_.name(*wgrad)),
                    {*backward, *wgrad});
    }
    if (dgrad && !wgrad) {
      findings_.add(fmt::format("{}: {} is missing", text_.name(*dgrad), text(ActionKind::Wgrad)),
                    {*dgrad});
    }
  }

  const Schedule& schedule_;
  const bool forward_only_;
  const ActionPlaces places_;
  const PlanText text_{schedule_};
  FindingList findings_{"verify_once", text_};
};

}  // namespace

std::vector<Finding> verify_once(const Schedule& schedule, bool forward_only) {
  return OnceVerifier(schedule, forward_only).run();
}

std::vector<Finding> verify_wgrads(const Schedule& schedule) {
  const ActionPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_wgrads", text);
  places.for_each_at_home([&](Place place, const Action& action) {
    if (action.kind != ActionKind::Wgrad) return;
    const auto dgrad = places.find(ActionKind::Dgrad, action.stage, action.micro_batch);
    if (!dgrad || dgrad->index < place.index) return;
    findings.add(fmt::format("{} stands before its I, {}", text.name(place), text.name(*dgrad)),
                 {place, *dgrad});
  });
  return findings.take();
}

std::vector<Finding> verify_data_flow(const Schedule& schedule) {
  const ActionPlaces places(schedule);
  const PlanText text(schedule);
  FindingList findings("verify_data_flow", text);
  WaitGraph graph;
  for (const auto& cells : schedule.ranks) graph.needs.emplace_back(cells.size());
  places.for_each_at_home([&](Place place, const Action& action) {
    if (action.kind == ActionKind::Wgrad) return;
    const Stage s = action.stage;
    const MicroBatch m = action.micro_batch;
    const auto need = [&](const std::optional<Place>& need_place) {
      if (need_place) graph.needs[place.list][place.index].push_back(*need_place);
    };
    if (action.kind == ActionKind::Forward) {
      need(places.find(ActionKind::Forward, Stage(s.value - 1), m));
    } else {
      need(places.find(ActionKind::Forward, s, m));
      need(places.find_gradient(Stage(s.value + 1), m));
    }
  });
  findings.add_deadlock("the order can never end", graph);
  return findings.take();
}

std::vector<Finding> verify_order(const Schedule& schedule, bool forward_only) {
  std::vector<Finding> findings = verify_once(schedule, forward_only);
  std::ranges::move(verify_wgrads(schedule), std::back_inserter(findings));
  std::ranges::move(verify_data_flow(schedule), std::back_inserter(findings));
  return findings;
}

}  // namespace weft
