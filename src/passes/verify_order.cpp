#include <fmt/format.h>

#include <string>

#include "passes/cell_times.h"
#include "passes/deadlock.h"
#include "passes/verify.h"
#include "schedule/text.h"

namespace weft {
namespace {

constexpr int kAbsent = -1;

// Where each action of a kind stands: the index of its cell, by (stage, micro-batch).
struct Places {
  std::vector<int> forward, backward, dgrad, wgrad;

  explicit Places(std::size_t n)
      : forward(n, kAbsent), backward(forward), dgrad(forward), wgrad(forward) {}

  std::vector<int>& of(ActionKind kind) {
    switch (kind) {
      case ActionKind::Forward:
        return forward;
      case ActionKind::Backward:
        return backward;
      case ActionKind::Dgrad:
        return dgrad;
      case ActionKind::Wgrad:
        return wgrad;
      case ActionKind::SendForward:
      case ActionKind::RecvForward:
      case ActionKind::SendBackward:
      case ActionKind::RecvBackward:
      case ActionKind::ReduceGrad:
        break;
    }
    throw InternalError("a transfer is not computed");
  }
};

class OrderVerifier {
 public:
  OrderVerifier(const Schedule& schedule, bool forward_only)
      : schedule_(schedule),
        forward_only_(forward_only),
        places_(schedule.map.num_stages() * std::max(0, schedule.num_micro_batches)) {}

  std::vector<Finding> run() {
    if (static_cast<int>(schedule_.ranks.size()) != schedule_.map.num_ranks) {
      report("{} lists for {} ranks", schedule_.ranks.size(), schedule_.map.num_ranks);
      return findings_;
    }
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < schedule_.ranks[rank].size(); ++i) {
        check_cell({static_cast<int>(rank), static_cast<int>(i)});
      }
    }
    for (int s = 0; s < schedule_.map.num_stages(); ++s) {
      for (int m = 0; m < schedule_.num_micro_batches; ++m) check_complete(Stage(s), MicroBatch(m));
    }
    if (findings_.empty()) check_data_flow();
    return findings_;
  }

 private:
  template <class... T>
  void report(fmt::format_string<T...> format, T&&... values) {
    findings_.push_back({"verify_order", fmt::format(format, std::forward<T>(values)...)});
  }

  std::size_t index_of(Stage s, MicroBatch m) const {
    return s.value * schedule_.num_micro_batches + m.value;
  }

  std::string name(Place p) const {
    return fmt::format("rank {} cell {} ({})", p.list, p.index + 1,
                       print(schedule_.ranks[p.list][p.index]));
  }

  void check_cell(Place place) {
    const Cell& cell = schedule_.ranks[place.list][place.index];
    if (const ActionPair* pair = std::get_if<ActionPair>(&cell)) {
      const bool backward =
          pair->backward.kind == ActionKind::Backward || pair->backward.kind == ActionKind::Dgrad;
      if (pair->forward.kind != ActionKind::Forward || !backward) {
        report("{}: a pair is one F and one B or I", name(place));
        return;
      }
    }
    for (const Action& action : compute_actions(cell)) check_action(place, action);
  }

  void check_action(Place place, const Action& action) {
    const StageMap& map = schedule_.map;
    if (action.stage.value < 0 || action.stage.value >= map.num_stages()) {
      report("{}: there is no stage {}, the last one is {}", name(place), action.stage.value,
             map.num_stages() - 1);
      return;
    }
    if (action.micro_batch.value < 0 || action.micro_batch.value >= schedule_.num_micro_batches) {
      report("{}: there is no micro-batch {}, the last one is {}", name(place),
             action.micro_batch.value, schedule_.num_micro_batches - 1);
      return;
    }
    const int home = map.rank_of(action.stage).value;
    if (home != place.list) {
      report("{}: stage {} is on rank {}", name(place), action.stage.value, home);
      return;
    }
    if (forward_only_ && action.kind != ActionKind::Forward) {
      report("{}: a plan of forwards only has no backward", name(place));
      return;
    }
    int& seen = places_.of(action.kind)[index_of(action.stage, action.micro_batch)];
    if (seen != kAbsent) {
      report("{}: {} stands at {} already", name(place), print(action), name({home, seen}));
      return;
    }
    seen = place.index;
  }

  void check_complete(Stage s, MicroBatch m) {
    const std::size_t i = index_of(s, m);
    const int rank = schedule_.map.rank_of(s).value;
    const auto text = [&](ActionKind kind) { return print(Action{kind, s, m}); };
    if (places_.forward[i] == kAbsent) {
      report("rank {}: {} is missing", rank, text(ActionKind::Forward));
    }
    if (forward_only_) return;
    const int backward = places_.backward[i];
    const int dgrad = places_.dgrad[i];
    const int wgrad = places_.wgrad[i];
    if (backward == kAbsent && dgrad == kAbsent) {
      report("rank {}: {} is missing, or {} with {}", rank, text(ActionKind::Backward),
             text(ActionKind::Dgrad), text(ActionKind::Wgrad));
    } else if (backward != kAbsent && dgrad != kAbsent) {
      report("{}: its input gradient is computed by {} too", name({rank, backward}),
             name({rank, dgrad}));
    }
    if (backward != kAbsent && wgrad != kAbsent) {
      report("{}: its weight gradients are computed by {} too", name({rank, backward}),
             name({rank, wgrad}));
    }
    if (dgrad != kAbsent && wgrad == kAbsent) {
      report("{}: {} is missing", name({rank, dgrad}), text(ActionKind::Wgrad));
    }
    if (dgrad != kAbsent && wgrad != kAbsent && wgrad < dgrad) {
      report("{} stands before its I, {}", name({rank, wgrad}), name({rank, dgrad}));
    }
  }

  // The cells whose results an action takes.
  void add_needs(const Action& action, std::vector<Place>& needs) {
    const auto place = [&](int stage, const std::vector<int>& of) {
      return Place{schedule_.map.rank_of(Stage(stage)).value,
                   of[index_of(Stage(stage), action.micro_batch)]};
    };
    const int s = action.stage.value;
    if (action.kind == ActionKind::Forward && s > 0) needs.push_back(place(s - 1, places_.forward));
    if (action.kind != ActionKind::Backward && action.kind != ActionKind::Dgrad) return;
    needs.push_back(place(s, places_.forward));
    if (s + 1 == schedule_.map.num_stages()) return;
    const Place split = place(s + 1, places_.dgrad);
    needs.push_back(split.index != kAbsent ? split : place(s + 1, places_.backward));
  }

  void check_data_flow() {
    WaitGraph graph;
    graph.needs.resize(schedule_.ranks.size());
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (const Cell& cell : schedule_.ranks[rank]) {
        auto& needs = graph.needs[rank].emplace_back();
        for (const Action& action : compute_actions(cell)) add_needs(action, needs);
      }
    }
    const std::vector<Place> cycle = find_deadlock(graph);
    if (cycle.empty()) return;
    report("the order can never end: {}",
           print_deadlock(graph, cycle, [this](Place p) { return name(p); }));
  }

  const Schedule& schedule_;
  const bool forward_only_;
  Places places_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify_order(const Schedule& schedule, bool forward_only) {
  return OrderVerifier(schedule, forward_only).run();
}

}  // namespace weft
