// The verbs that need LibTorch.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Logging.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "comm/c10d.h"
#include "comm/launcher.h"
#include "comm/local.h"
#include "comm/run_rank.h"
#include "config/rules.h"
#include "config/verb.h"
#include "estimate/machine_memory.h"
#include "train/output_lock.h"
#include "train/outputs.h"
#include "train/prepare.h"
#include "train/run_request.h"
#include "train/run_settings.h"
#include "train/sample_run.h"
#include "train/tokenizer.h"
#include "train/trainer.h"
#include "train/without_trace.h"

namespace weft {
namespace {

std::chrono::milliseconds deadline_of(const Config& config) {
  return std::chrono::seconds(config.launch.distributed_timeout_seconds);
}

CommunicatorPtr connect(const Config& config, const Rendezvous& place,
                        std::vector<SharedSetting> settings) {
  const C10dOptions options{.deadline = deadline_of(config), .settings = std::move(settings)};
  return config.launch.communicator == "nccl" ? make_nccl_communicator(place, options)
                                              : make_gloo_communicator(place, options);
}

void require_device(const Config& config) {
  if (config.launch.device != "cuda" || at::hasCUDA()) return;
  throw UserError(Violation{"device", "--device cuda",
                            "this LibTorch finds no CUDA device; use --device cpu, or a LibTorch "
                            "built for CUDA on a machine that has one"});
}

// What the flags say of ranks that a launcher has started already.
std::vector<Violation> contradictions(const Request& request, const Rendezvous& place) {
  std::vector<Violation> violations;
  if (place.started_by == StartedBy::None) return violations;
  const std::string started = started_by_text(place.started_by) + " has started " +
                              std::to_string(place.world_size) +
                              (place.world_size == 1 ? " rank" : " ranks");
  const LaunchConfig& launch = request.config.launch;
  if (launch.communicator == "threads" && place.world_size > 1) {
    violations.push_back({"threads-are-one-process", request.found("communicator"),
                          started + " as processes: take gloo, or start weft without a launcher"});
  }
  if (launch.local_ranks.value_or(place.world_size) != place.world_size) {
    violations.push_back({"local-ranks-agree", request.found("local-ranks"),
                          started + ": leave the flag out, or start weft without a launcher"});
  }
  return violations;
}

// The config of a run, its files and who has started this process taken into account.
Config config_of_run(const Request& request, RunFacts facts, const Rendezvous& place,
                     std::vector<std::string>& warnings) {
  Request whole = request;
  whole.config = with_files(request, warnings);
  if (place.started_by != StartedBy::None) facts.world_size = place.world_size;
  std::vector<Violation> broken = contradictions(request, place);
  const std::vector<Violation> rules = check(whole, facts);
  broken.insert(broken.end(), rules.begin(), rules.end());
  if (!broken.empty()) throw UserError(std::move(broken));
  return resolved(whole.config, facts);
}

void require_memory_of_ranks(const Config& config, const RunPlan& plan, const Rendezvous& place) {
  if (config.launch.device != "cpu") return;
  const bool all_here =
      place.started_by == StartedBy::None || config.launch.communicator == "threads";
  const Coordinates mine = coordinates_of(plan.mesh, Rank(place.rank));
  require_memory(all_here ? state_bytes(config, plan) : state_bytes(config, plan, Rank(mine.pp)),
                 machine_memory_bytes());
}

// The ranks of a run: threads of this process, this process as one of those that a launcher has
// started, or processes that are started here.
void run_train(const Request& request, const RunFacts& facts) {
  const Rendezvous place = rendezvous_from_environment();
  std::vector<std::string> warnings;
  const Config config = config_of_run(request, facts, place, warnings);
  require_device(config);
  require_writable_outputs(config.train);
  // The process that the user started, or rank 0, speaks for all.
  const bool speaks = place.started_by == StartedBy::None ||
                      (place.started_by != StartedBy::Launcher && place.rank == 0);
  if (speaks) {
    for (const std::string& warning : warnings) log_warning(warning);
  } else {
    set_log_level(LogLevel::Warning);
  }
  const OutputLock lock(speaks ? config.train.save : "");
  const RunPlan plan = make_run_plan(config);
  set_log_level(LogLevel::Info);
  const int num_ranks = plan.mesh.world_size();
  require_memory_of_ranks(config, plan, place);
  at::set_num_threads(config.launch.threads_per_rank);
  if (config.launch.communicator == "threads") {
    say_when_terminated();
    const LocalOptions options{.deadline = deadline_of(config),
                               .threads_per_rank = config.launch.threads_per_rank};
    run_ranks(num_ranks, options, [&](int, const CommunicatorPtr& communicator) {
      train(config, plan, *communicator);
    });
  } else if (place.started_by == StartedBy::None && num_ranks > 1) {
    launch_local_ranks(num_ranks, request.command_line);
  } else {
    run_rank(
        place, [&] { return connect(config, place, run_settings(request, config, plan)); },
        [&](Communicator& communicator) { train(config, plan, communicator); });
  }
}

// Each process of a launcher would do the whole of it, and write the same files.
void require_one_process(const Request& request) {
  const Rendezvous place = rendezvous_from_environment();
  if (place.world_size == 1) return;
  throw UserError(Violation{"one-process", "weft " + std::string(info_of(request.verb).name),
                            started_by_text(place.started_by) + " has started " +
                                std::to_string(place.world_size) +
                                " ranks: this verb runs in one process, without a launcher"});
}

void run_data(const Request& request, const RunFacts& /*facts*/) {
  require_one_process(request);
  const DataConfig& data = request.config.data;
  const PrepareStatistics statistics = prepare({.inputs = {data.input},
                                                .output_prefix = data.output_prefix,
                                                .tokenizer = data.tokenizer_type,
                                                .suffix = data.suffix,
                                                .exclude = data.exclude,
                                                .append_eod = data.append_eod});
  print_result(describe(statistics));
}

void run_sample(const Request& request, const RunFacts& /*facts*/) {
  require_one_process(request);
  std::vector<std::string> warnings;
  const Config config = with_files(request, warnings);
  require_device(config);
  at::set_num_threads(config.launch.threads_per_rank);
  const std::string text = config.sample.prompt + sample_from_checkpoint(config);
  write_result(config.output, printable(text) + "\n");
}

template <VerbFunction run>
void run_without_trace(const Request& request, const RunFacts& facts) {
  c10::initLogging();  // at TORCH_CPP_LOG_LEVEL, which LibTorch heeds in Python only by itself
  without_trace([&] { run(request, facts); });
}

}  // namespace

std::vector<VerbEntry> training_verbs() {
  return {{Verb::Train, run_without_trace<run_train>},
          {Verb::Data, run_without_trace<run_data>},
          {Verb::Sample, run_without_trace<run_sample>}};
}

}  // namespace weft
