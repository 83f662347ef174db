#include "cli/run.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/log.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "config/help.h"
#include "config/rules.h"
#include "layout/layout_string.h"

namespace weft {
namespace {

// Reads the layout string, so that the rules know how many stages there are.
RunFacts gather_facts(Request& request, std::vector<Violation>& violations) {
  RunFacts facts;
  const std::string& text = request.config.schedule.pipeline_model_parallel_layout;
  if (text.empty()) return facts;
  try {
    const std::vector<StageLayers> stages = parse_layout_string(text);
    facts.layout_stages = static_cast<int>(stages.size());
    facts.layout_has_mtp = std::ranges::any_of(
        stages, [](const StageLayers& stage) { return !stage.mtp_layers.empty(); });
  } catch (const UserError& error) {
    violations.insert(violations.end(), error.violations().begin(), error.violations().end());
    request.broken.insert("pipeline-model-parallel-layout");
  }
  return facts;
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
  for (const std::string& warning : request.warnings) log_warning(warning);
  const RunFacts facts = gather_facts(request, violations);
  const std::vector<Violation> broken = check(request, facts);
  violations.insert(violations.end(), broken.begin(), broken.end());
  if (!violations.empty()) throw UserError(std::move(violations));
  function_of(info)(request, facts);
}

void run_arguments(const std::vector<std::string>& arguments,
                   const EnvironmentVariables& environment) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
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
