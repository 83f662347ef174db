// The rules that flags must keep together: one table. Those of the original (MindSpeed's DualPipeV
// and forward/backward overlap, spec.md section 7) are kept or lifted; the others are Weft's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/derive.h"
#include "config/request.h"

namespace weft {

enum class Verdict {
  Kept,    // refused as in the original; without a check by the flag of the same name
  Lifted,  // the original refuses it, Weft does it; no check
  Own,     // sizes that do not fit, and the like
};

// A request as the rules see it.
struct RuleInput {
  const Request& request;
  const Config& config;
  RunFacts facts;
};

// What is wrong: `found` and `message` of a Violation. `found` empty: nothing.
struct RuleBreak {
  std::string found;
  std::string message;
};

struct Rule {
  std::string_view name;     // stable
  std::string_view feature;  // what it belongs to
  Verdict verdict = Verdict::Own;
  std::string_view original;  // the original's rule; empty where it is Weft's own
  std::string_view flags;  // flags that it reads, separated by blanks; not checked if one is broken
  RuleBreak (*check)(const RuleInput&) = nullptr;
  VerbSet verbs = ~0U;
  std::string_view weft = "";  // what Weft does, beside a rule of the original
};

const std::vector<Rule>& rule_table();

// Every broken rule at once, in the order of the table. A rule does not bind where the values that
// it compares were not given (`schedule`, `simulate`, `layout`).
std::vector<Violation> check(const Request& request, const RunFacts& facts);

// For rows: most rules are Weft's own; verbs that make a plan; flags that say how a model is cut
// into stages.
inline constexpr auto kOwn = Verdict::Own;
inline constexpr VerbSet kBuildsPlan =
    verbs(Verb::Train, Verb::Schedule, Verb::Simulate, Verb::Plan);
inline constexpr auto kCutFlags =
    "schedules-method pipeline-model-parallel-size num-virtual-stages-per-pipeline-rank "
    "num-layers-per-virtual-pipeline-stage pipeline-model-parallel-layout num-layers placement";

// Parts of the table, one source file each.
std::vector<Rule> original_rules();
std::vector<Rule> schedule_rules();
std::vector<Rule> schedule_file_rules();
std::vector<Rule> size_rules();
std::vector<Rule> script_rules();

// For messages of rules on schedules.
std::string method_of(const RuleInput& input);
int ranks_of(const RuleInput& input);
// `--schedules-method 1f1b`, or which one it is by default.
std::string method_found(const RuleInput& input);
// The first of the virtual pipeline flags that was given; empty: none.
std::string virtual_flag(const RuleInput& input);

}  // namespace weft
