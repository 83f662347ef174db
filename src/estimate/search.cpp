#include "estimate/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/rules.h"
#include "estimate/run_report.h"
#include "estimate/trials.h"
#include "estimate/units.h"

namespace weft {
namespace {

constexpr std::size_t kShown = 10;
constexpr int kMostSimulated = 100;
// How far a quick look may be wrong, as a share of the rate.
constexpr double kDoubt = 0.05;

std::string name_of(const Trial& trial) {
  std::string name = fmt::format("P {} EP {} micro-batch {} {}", trial.pipeline_size,
                                 trial.expert_size, trial.micro_batch_size, trial.schedule);
  if (trial.chunks > 1) name += fmt::format(" of {} chunks", trial.chunks);
  if (trial.overlap) name += ", overlap";
  if (trial.detach) name += ", detach";
  return name;
}

// Ways by why they are out; of those that need too much memory the example needs least.
class Bin {
 public:
  void add(const std::string& reason, double measure, const std::string& example) {
    auto [at, is_new] = groups_.try_emplace(reason);
    Group& group = at->second;
    if (is_new || measure < group.measure) {
      group.measure = measure;
      group.thrown.example = example;
    }
    group.thrown.reason = reason;
    ++group.thrown.count;
  }

  void add_bytes(const std::string& reason, std::int64_t bytes, const Trial& trial) {
    add(reason, static_cast<double>(bytes),
        "least: " + print_bytes(bytes) + " with " + name_of(trial));
  }

  std::vector<ThrownOut> list() const {
    std::vector<ThrownOut> list;
    for (const auto& [reason, group] : groups_) list.push_back(group.thrown);
    std::ranges::stable_sort(list, std::greater{}, &ThrownOut::count);
    return list;
  }

 private:
  struct Group {
    double measure = 0;
    ThrownOut thrown;
  };

  std::map<std::string, Group> groups_;
};

using Listener = std::function<void(const SearchProgress&)>;

class Search {
 public:
  Search(const Request& request, const RunFacts& facts, const Listener& listen)
      : request_(request), facts_(facts), listen_(listen) {
    if (request.config.plan.memory_gib) {
      limit_ = static_cast<std::int64_t>(*request.config.plan.memory_gib * kBytesPerGib);
    }
  }

  SearchReport run() {
    std::vector<Trial> trials = list_trials(request_, facts_);
    report_.tried = static_cast<int>(trials.size());
    if (trials.empty()) throw UserError(nothing_to_try());
    for (Trial& trial : trials) {
      look_at(trial);
      ++looked_at_;
      tell();
    }
    std::ranges::stable_sort(open_, std::greater{}, &Trial::rate);
    simulate_best();
    std::ranges::stable_sort(report_.best, std::greater{}, &Trial::rate);
    add_reasons();
    for (std::size_t i = kShown; i < report_.best.size(); ++i) slower(report_.best[i]);
    report_.best.resize(std::min(kShown, report_.best.size()));
    report_.thrown_out = bin_.list();
    report_.num_ranks = *request_.config.launch.local_ranks;
    report_.memory_gib = request_.config.plan.memory_gib;
    report_.costs = costs_text(request_.config);
    report_.batch = batch_text();
    return std::move(report_);
  }

 private:
  void tell() const {
    if (!listen_) return;
    const int open = static_cast<int>(open_.size());
    listen_({looked_at_, report_.tried, report_.simulated, std::min(open, kMostSimulated)});
  }

  Violation nothing_to_try() const {
    return {
        "search-space", request_.found("ranks"),
        "no size of pipeline, experts and micro-batch divides these ranks and the batch: change "
        "--ranks, --global-batch-size, or what else was given"};
  }

  std::string batch_text() const {
    const ScheduleConfig& asked = request_.config.schedule;
    if (asked.num_microbatches) {
      return fmt::format("{} micro-batches a step", *asked.num_microbatches);
    }
    if (asked.global_batch_size) return fmt::format("global batch {}", *asked.global_batch_size);
    return fmt::format("global batch {} (--global-batch-size not given: {} sequences a rank)",
                       kSequencesPerRank * *request_.config.launch.local_ranks, kSequencesPerRank);
  }

  void look_at(Trial& trial) {
    Request whole = request_;
    whole.config = config_of(trial, request_, facts_);
    whole.open.clear();
    if (const std::vector<Violation> broken = check(whole, facts_); !broken.empty()) {
      bin_.add("rule " + broken.front().rule, 0,
               broken.front().found + ": " + broken.front().message);
      return;
    }
    const QuickLook look = looks_.look(whole.config);
    trial.estimated = look.makespan;
    trial.bytes = look.bytes;
    if (limit_ && look.parameter_bytes > *limit_) {
      bin_.add_bytes("weights, gradients and optimizer state alone do not fit",
                     look.parameter_bytes, trial);
    } else if (limit_ && look.bytes > *limit_) {
      too_much(trial);
    } else {
      open_.push_back(trial);
    }
  }

  void too_much(const Trial& trial) {
    bin_.add_bytes("with the activations alive at once it does not fit", trial.bytes, trial);
  }

  void slower(const Trial& trial) {
    bin_.add("fits, but is slower than those shown", -trial.rate(), "best: " + name_of(trial));
  }

  void simulate_best() {
    for (Trial& trial : open_) {
      if (report_.simulated >= kMostSimulated || cannot_be_shown(trial)) {
        slower(trial);
        estimated_.push_back(trial);
        continue;
      }
      simulate(trial);
      tell();
      if (!trial.within_limits) {
        bin_.add("above --max-live-chunks, --max-pending-wgrads or --max-activation-bytes",
                 -trial.rate(), "fastest: " + name_of(trial));
      } else if (limit_ && trial.bytes > *limit_) {
        too_much(trial);
      } else {
        report_.best.push_back(trial);
      }
    }
  }

  bool cannot_be_shown(const Trial& trial) const {
    if (report_.best.size() < kShown) return false;
    std::vector<double> rates;
    for (const Trial& better : report_.best) rates.push_back(better.rate());
    std::ranges::nth_element(rates, rates.begin() + kShown - 1, std::greater{});
    return trial.rate() * (1 + kDoubt) < rates[kShown - 1];
  }

  void simulate(Trial& trial) {
    const Config config = config_of(trial, request_, facts_);
    const PlanEstimate estimate = estimate_plan(config);
    ++report_.simulated;
    trial.within_limits = limit_findings(config, estimate).empty();
    report_.unit = estimate.timeline.unit;
    trial.makespan = estimate.metrics.makespan;
    trial.bytes = 0;
    const double all = estimate.metrics.makespan * static_cast<double>(trial.pipeline_size);
    for (int r = 0; r < trial.pipeline_size; ++r) {
      const auto i = static_cast<std::size_t>(r);
      const RankMetrics& rank = estimate.metrics.ranks[i];
      trial.busy += rank.busy / all;
      trial.bubble += rank.bubble / all;
      trial.exposed += rank.exposed_communication / all;
      const ParameterCount count =
          count_rank(estimate.sizes, estimate.plan.layout, Rank(r), trial.expert_size);
      trial.bytes = std::max(
          trial.bytes, memory_of(count, estimate.element, estimate.activations[i].peak).total());
    }
  }

  // A quick look leaves out what weaving cannot hide, so it can promise more than the first keeps.
  static std::string difference_text(const char* respect, const Trial& first, const Trial& other) {
    const double slower = 100 * (1 - other.rate() / first.rate());
    if (slower < 0) {
      return fmt::format("with {} a quick look promises up to {:.1f} % more, not simulated: {}",
                         respect, -slower, name_of(other));
    }
    return fmt::format("with {} the best is {:.1f} % slower{}: {}", respect, slower,
                       other.makespan ? "" : " by a quick look", name_of(other));
  }

  // The first beside the best that differs in one respect.
  void add_reasons() {
    if (report_.best.empty()) return;
    const Trial& first = report_.best.front();
    report_.reasons.push_back(fmt::format(
        "ranks compute {:.1f} % of the time, {:.1f} % are bubble, {:.1f} % exposed communication",
        100 * first.busy, 100 * first.bubble, 100 * first.exposed));
    using Differs = bool (*)(const Trial&, const Trial&);
    static constexpr std::pair<const char*, Differs> kRespects[] = {
        {"another schedule",
         [](const Trial& a, const Trial& b) { return a.schedule != b.schedule; }},
        {"the overlap the other way",
         [](const Trial& a, const Trial& b) { return a.overlap != b.overlap; }},
        {"another pipeline size",
         [](const Trial& a, const Trial& b) { return a.pipeline_size != b.pipeline_size; }},
        {"another expert size",
         [](const Trial& a, const Trial& b) { return a.expert_size != b.expert_size; }},
        {"another micro-batch",
         [](const Trial& a, const Trial& b) { return a.micro_batch_size != b.micro_batch_size; }}};
    for (const auto& [name, differs] : kRespects) {
      const Trial* other = nullptr;
      for (const std::vector<Trial>* trials :
           {&std::as_const(report_.best), &std::as_const(estimated_)}) {
        for (const Trial& trial : *trials) {
          if (differs(first, trial) && (other == nullptr || trial.rate() > other->rate())) {
            other = &trial;
          }
        }
      }
      if (other == nullptr) continue;
      report_.reasons.push_back(difference_text(name, first, *other));
    }
  }

  const Request& request_;
  const RunFacts& facts_;
  const Listener& listen_;
  std::optional<std::int64_t> limit_;
  int looked_at_ = 0;
  QuickLooks looks_;
  Bin bin_;
  std::vector<Trial> open_;       // may fit
  std::vector<Trial> estimated_;  // fit by the quick look, too slow to be worth lowering
  SearchReport report_;
};

}  // namespace

std::string flags_of(const Trial& trial) {
  std::string flags = fmt::format(
      "--pipeline-model-parallel-size {} --expert-model-parallel-size {} --schedules-method {}",
      trial.pipeline_size, trial.expert_size, trial.schedule);
  if (trial.schedule == "interleaved") {
    flags += fmt::format(" --num-virtual-stages-per-pipeline-rank {}", trial.chunks);
  }
  if (trial.overlap) flags += " --moe-fb-overlap";
  if (trial.detach) flags += " --dualpipev-dw-detach";
  return flags + fmt::format(" --micro-batch-size {} --num-microbatches {}", trial.micro_batch_size,
                             trial.num_micro_batches);
}

SearchReport search_runs(const Request& request, const RunFacts& facts, const Listener& listen) {
  return Search(request, facts, listen).run();
}

}  // namespace weft
