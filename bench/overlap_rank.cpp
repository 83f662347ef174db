// One rank of bench/overlap: trains as `weft train` with the same flags would, and prints on rank 0
// what the steps took and what was predicted, as JSON. With --bound all-to-alls are local copies.
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "bench/bound_communicator.h"
#include "comm/c10d.h"
#include "comm/run_rank.h"
#include "config/rules.h"
#include "train/trainer.h"

namespace {

using nlohmann::json;

json optional(const std::optional<double>& value) { return value ? json(*value) : json(); }

json to_json(const weft::StepTimes& times) {
  return {{"step_ms", times.step_ms},
          {"compute_ms", times.compute_ms},
          {"all_to_all_ms", times.all_to_all_ms},
          {"all_to_all_exposed_ms", times.all_to_all_exposed_ms},
          {"all_to_all_hidden_steady", optional(times.all_to_all_hidden_steady)},
          {"all_to_all_hidden_outside", optional(times.all_to_all_hidden_outside)},
          {"counts_exposed_ms", times.counts_exposed_ms},
          {"p2p_exposed_ms", times.p2p_exposed_ms},
          {"bubble_ms", times.bubble_ms}};
}

double cpu_ms(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// CPU time of the thread that computes and of all threads of the process; what is between them is
// the transport's.
struct CpuTimes {
  double compute_ms = cpu_ms(RUSAGE_THREAD);
  double process_ms = cpu_ms(RUSAGE_SELF);
};

json to_json(const weft::TrainResult& result, const CpuTimes& before, const CpuTimes& after) {
  const auto per_step = [&](double ms) { return ms / static_cast<double>(result.steps.size()); };
  const double compute = after.compute_ms - before.compute_ms;
  const double process = after.process_ms - before.process_ms;
  json steps = json::array();
  for (const weft::StepTimes& times : result.times) steps.push_back(to_json(times));
  return {{"steps", steps},
          {"predicted", result.predicted ? to_json(*result.predicted) : json()},
          {"compute_cpu_ms", per_step(compute)},
          {"transport_cpu_ms", per_step(process - compute)}};
}

weft::Config read_config(const std::vector<std::string>& arguments, const weft::Rendezvous& place) {
  std::vector<weft::Violation> violations;
  const weft::Request request =
      weft::read_request(weft::Verb::Train, arguments, weft::process_environment(), violations);
  weft::RunFacts facts;
  if (place.started_by != weft::StartedBy::None) facts.world_size = place.world_size;
  const std::vector<weft::Violation> broken = weft::check(request, facts);
  violations.insert(violations.end(), broken.begin(), broken.end());
  if (!violations.empty()) throw weft::UserError(std::move(violations));
  return weft::resolved(request.config, facts);
}

void run(const std::vector<std::string>& arguments, bool bound) {
  const weft::Rendezvous place = weft::rendezvous_from_environment();
  const weft::Config config = read_config(arguments, place);
  const weft::RunPlan plan = weft::make_run_plan(config);
  at::set_num_threads(config.launch.threads_per_rank);
  const weft::C10dOptions options{
      .deadline = std::chrono::seconds(config.launch.distributed_timeout_seconds)};
  const auto connect = [&] {
    const weft::CommunicatorPtr gloo = weft::make_gloo_communicator(place, options);
    return bound ? weft::make_bound_communicator(gloo) : gloo;
  };
  weft::run_rank(place, connect, [&](weft::Communicator& communicator) {
    const CpuTimes before;
    const weft::TrainResult result = weft::train(config, plan, communicator);
    if (place.rank == 0) std::cout << to_json(result, before, CpuTimes()) << std::endl;
  });
}

}  // namespace

int main(int argc, char** argv) {
  setenv("MKL_CBWR", "AUTO,STRICT", 0);  // as weft does
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool bound = std::erase(arguments, "--bound") > 0;
  try {
    run(arguments, bound);
    return 0;
  } catch (const weft::UserError& error) {
    for (const weft::Violation& violation : error.violations()) {
      weft::log_error(violation.rule + ": " + violation.found + ": " + violation.message);
    }
    return static_cast<int>(weft::ExitCode::UserInput);
  } catch (const std::exception& error) {
    weft::log_error(error.what());
  }
  return static_cast<int>(weft::ExitCode::Fault);
}
