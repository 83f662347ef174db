#include "cli/run.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/log.h"
#include "cli/output.h"
#include "cli/run_files.h"
#include "cli/verbs.h"
#include "config/help.h"
#include "config/model_source.h"
#include "config/rules.h"
#include "config/rules_text.h"
#include "config/script_summary.h"
#include "costs/costs.h"
#include "costs/costs_toml.h"
#include "layout/layout_string.h"
#include "layout/make_layout.h"
#include "passes/verify.h"
#include "schedule/csv.h"
#include "schedule/text.h"

namespace weft {
namespace {

void gather_layout(Request& request, RunFacts& facts, std::vector<Violation>& violations) {
  const std::string& text = request.config.schedule.pipeline_model_parallel_layout;
  if (text.empty()) return;
  try {
    const std::vector<StageLayers> stages = parse_layout_string(text);
    facts.layout_stages = static_cast<int>(stages.size());
    facts.layout_has_mtp = std::ranges::any_of(
        stages, [](const StageLayers& stage) { return !stage.mtp_layers.empty(); });
  } catch (const UserError& error) {
    violations.insert(violations.end(), error.violations().begin(), error.violations().end());
    request.broken.insert("pipeline-model-parallel-layout");
  }
}

void warn_of_falling_wgrads(const Schedule& schedule, Request& request) {
  const auto falling = falling_wgrads(schedule);
  if (falling.empty()) return;
  const auto& [first, second] = falling.front();
  request.warnings.push_back(
      request.config.schedule.schedules_method + ": " + print(first) + " runs before " +
      print(second) + ": gradients are summed in this order, so digests may differ from those of " +
      "schedules whose weight gradients rise in micro-batches");
}

// What the verifiers find at the level at which the file is written.
std::vector<Finding> findings_of(const Schedule& schedule) {
  std::vector<Finding> findings = verify_order(schedule);
  if (findings.empty() && !is_compute_level(schedule)) findings = verify_transfers(schedule);
  return findings;
}

// The ranks and micro-batches of the file stand in for flags that are not given.
void gather_schedule_file(Request& request, RunFacts& facts, std::vector<Violation>& violations) {
  ScheduleConfig& flags = request.config.schedule;
  if (!is_schedule_file(flags.schedules_method)) return;
  try {
    const Schedule schedule = read_csv(flags.schedules_method);
    const StageMap& map = schedule.map;
    facts.schedule_file = {map.num_ranks, map.chunks_per_rank, map.placement == Placement::V,
                           schedule.num_micro_batches, has_pairs(schedule)};
    facts.schedule_file_findings = findings_of(schedule);
    if (!request.given("pipeline-model-parallel-size")) {
      request.config.parallel.pipeline_model_parallel_size = map.num_ranks;
    }
    const bool known = flags.num_microbatches.has_value() ||
                       (flags.global_batch_size.has_value() && flags.micro_batch_size.has_value());
    if (!known) {
      flags.num_microbatches = schedule.num_micro_batches;
    }
    warn_of_falling_wgrads(schedule, request);
  } catch (const UserError& error) {
    violations.insert(violations.end(), error.violations().begin(), error.violations().end());
    request.broken.insert({"schedules-method", "num-microbatches", "pipeline-model-parallel-size"});
  }
}

// Reads what flags name, so that the rules know what is in it.
RunFacts gather_facts(Request& request, std::vector<Violation>& violations) {
  RunFacts facts;
  gather_layout(request, facts, violations);
  gather_schedule_file(request, facts, violations);
  return facts;
}

// Warnings are the same on every rank of a run: the process that has started the ranks says them,
// or the first rank (comm/rendezvous.h reads the same variables).
bool says_warnings(const EnvironmentVariables& environment) {
  if (environment.contains("WEFT_LAUNCHER_PIPE")) return false;
  const auto rank = environment.find("RANK");
  return rank == environment.end() || rank->second == "0";
}

// What a search chooses is not yet anything that a rule could judge.
void leave_open(Request& request) {
  for (const char* flag :
       {"pipeline-model-parallel-size", "expert-model-parallel-size", "data-parallel-size",
        "schedules-method", "num-microbatches", "micro-batch-size", "moe-fb-overlap",
        "dualpipev-dw-detach", "num-virtual-stages-per-pipeline-rank"}) {
    if (!request.given(flag)) request.open.insert(flag);
  }
}

// Verbs that lay a known number of layers out.
bool has_layout(const Request& request) {
  switch (request.verb) {
    case Verb::Schedule:
    case Verb::Simulate:
    case Verb::Layout:
      return true;
    case Verb::Plan:
      return !request.config.plan.search;
    case Verb::Train:  // else the layers are those of the model to load
      return request.config.model.num_layers.has_value();
    default:
      return false;
  }
}

// Which layers lie where is checked under every verb. A split that does not divide is said here
// alone (of a plan it is a note), and what costs from a file leave out. Throws UserError.
void check_layout(const Request& request, const RunFacts& facts, bool says) {
  if (!has_layout(request)) return;
  const Config config = resolved(request.config, facts);
  const Layout layout = make_layout(config, make_stage_map(config, facts));
  if (!says) return;
  if (const std::string& file = config.train.costs; !file.empty()) {
    for (const std::string& gap : cost_gaps(read_costs(file), layout)) {
      log_warning("--costs " + file + ": " + gap);
    }
  }
  if (request.verb == Verb::Plan) return;
  if (const auto note = uneven_note(config, layout)) log_info(*note);
}

VerbFunction function_of(const VerbInfo& info) {
  for (const std::vector<VerbEntry>& table : {plan_verbs(), training_verbs()}) {
    for (const VerbEntry& entry : table) {
      if (entry.verb == info.verb) return entry.run;
    }
  }
  throw UserError(Violation{"needs-libtorch", "weft " + std::string(info.name),
                            "this weft was built without LibTorch and only plans; build it with "
                            "LibTorch (`make build`) to use this verb"});
}

void run_verb(const std::string& name, const std::vector<std::string>& arguments,
              const EnvironmentVariables& environment) {
  const VerbInfo& info = find_verb(name);
  std::vector<Violation> violations;
  Request request = read_request(info.verb, arguments, environment, violations);
  request.command_line = {"weft", name};
  request.command_line.insert(request.command_line.end(), arguments.begin(), arguments.end());
  if (request.help) {
    print_result(verb_help(info.verb));
    return;
  }
  require_built(info);
  if (request.config.plan.rules) {
    write_result(request.config.output, print_rules(terminal_width(request.config.output, 100)));
    return;
  }
  take_model(request, violations);
  const RunFacts facts = gather_facts(request, violations);
  const bool says = says_warnings(environment);
  if (says) {
    for (const std::string& warning : request.warnings) log_warning(warning);
  }
  if (request.config.plan.search) leave_open(request);
  const RunFiles files = files_of(request);
  for (const auto& broken : {check(request, facts), outputs_apart(files.inputs, files.outputs)}) {
    violations.insert(violations.end(), broken.begin(), broken.end());
  }
  if (!violations.empty()) {
    // Whoever pastes a launch script wants to know of every flag, not only of those refused.
    const std::string script =
        info.verb == Verb::Plan ? print_script_flags(script_flags_of(request)) : "";
    if (!script.empty()) log_info("flags of a launch script\n" + script);
    throw UserError(std::move(violations));
  }
  if (!facts.schedule_file_findings.empty()) throw PlanError(facts.schedule_file_findings);
  check_layout(request, facts, says);
  function_of(info)(request, facts);
}

void run_arguments(const std::vector<std::string>& arguments,
                   const EnvironmentVariables& environment) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (first == "help" && arguments.size() > 1) {
    print_result(verb_help(find_verb(arguments[1]).verb));
  } else if (first == "--help" || first == "-h" || first == "help") {
    print_result(program_help());
  } else if (first == "--version") {
    print_result("weft " WEFT_VERSION "\n");
  } else {
    run_verb(first, {arguments.begin() + 1, arguments.end()}, environment);
  }
}

}  // namespace

ExitCode run_command(const std::vector<std::string>& arguments,
                     const EnvironmentVariables& environment) {
  try {
    run_arguments(arguments, environment);
    return ExitCode::Done;
  } catch (const UserError& error) {
    for (const Violation& violation : error.violations()) {
      log_error(violation.rule + ": " + violation.found + ": " + violation.message);
    }
    return ExitCode::UserInput;
  } catch (const PlanError& error) {
    for (const Finding& finding : error.findings()) {
      log_error(finding.verifier + ": " + finding.message);
    }
    return ExitCode::PlanRefused;
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
  } catch (const std::exception& error) {
    log_error(error.what());
  }
  return ExitCode::Fault;
}

}  // namespace weft
