#include "comm/scenarios.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "comm/c10d.h"
#include "comm/current_action.h"
#include "comm/exchange_suite.h"
#include "comm/launcher.h"
#include "comm/run_rank.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

GroupPtr world_of(Communicator& communicator) {
  std::vector<Rank> members;
  for (int rank = 0; rank < communicator.world_size(); ++rank) members.emplace_back(rank);
  return communicator.new_group("world", members);
}

bool is_last(const Communicator& communicator) {
  return communicator.rank().value == communicator.world_size() - 1;
}

void run_suite(Communicator& communicator) {
  for (const std::uint64_t seed : {1, 2, 3}) check_exchanges(communicator, seed);
  check_rank_ordered_sum(communicator, 4);
}

void wait_all_to_all(Group& group) {
  const at::Tensor input = at::zeros({group.size()});
  const std::vector<std::int64_t> splits(group.size(), 1);
  group.all_to_all(at::zeros_like(input), input, splits, splits)->wait();
}

// The last rank does `ending` while the others are in `waiting`.
template <class Waiting, class Ending>
void end_last_while_others_wait(Communicator& communicator, Waiting waiting, Ending ending) {
  const GroupPtr world = world_of(communicator);
  world->barrier()->wait();
  if (is_last(communicator)) {
    set_current_action("a quiet moment");
    std::this_thread::sleep_for(milliseconds(100));
    std::cerr << "ending" << std::endl;
    ending(*world);
  }
  set_current_action("the wait of the test");
  waiting(*world);
}

void kill_itself(Group&) { ::kill(::getpid(), SIGKILL); }

void kill_in_all_to_all(Communicator& communicator) {
  end_last_while_others_wait(communicator, wait_all_to_all, kill_itself);
}

void kill_in_recv(Communicator& communicator) {
  const auto waiting = [](Group& group) {
    group.recv(at::zeros({4}), (group.rank() + 1) % group.size(), 5)->wait();
  };
  end_last_while_others_wait(communicator, waiting, kill_itself);
}

void kill_in_barrier(Communicator& communicator) {
  end_last_while_others_wait(
      communicator, [](Group& group) { group.barrier()->wait(); }, kill_itself);
}

// Nobody faces the dead rank: only whoever started it can tell.
void kill_unseen(Communicator& communicator) {
  const auto waiting = [](Group&) { std::this_thread::sleep_for(std::chrono::seconds(60)); };
  end_last_while_others_wait(communicator, waiting, kill_itself);
}

void exit_7(Communicator& communicator) {
  end_last_while_others_wait(communicator, wait_all_to_all, [](Group&) { ::_exit(7); });
}

void user_error(Communicator& communicator) {
  end_last_while_others_wait(communicator, wait_all_to_all, [](Group&) {
    throw UserError({{"rule-one", "--flag 1", "is wrong"}, {"rule-two", "--flag 2", "too"}});
  });
}

void fault(Communicator& communicator) {
  end_last_while_others_wait(communicator, wait_all_to_all, [](Group& group) {
    const WorkPtr never_sent = group.recv(at::zeros({4}), 0, 9);
    throw RuntimeFault("No space left on device");
  });
}

void stall(Communicator& communicator) {
  const auto sleep = [](Group&) { std::this_thread::sleep_for(std::chrono::seconds(60)); };
  end_last_while_others_wait(communicator, wait_all_to_all, sleep);
}

void wait_for_ever(Communicator& communicator) {
  const GroupPtr world = world_of(communicator);
  world->barrier()->wait();
  if (communicator.rank().value == 0) {
    std::cerr << "ready" << std::endl;
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
  world->barrier()->wait();
}

void ready(Communicator& communicator) {
  if (communicator.rank().value == 0) std::cerr << "ready" << std::endl;
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

const std::map<std::string, void (*)(Communicator&)>& scenarios() {
  static const std::map<std::string, void (*)(Communicator&)> table = {
      {"exit-7", exit_7},
      {"fault", fault},
      {"kill-in-all-to-all", kill_in_all_to_all},
      {"kill-in-barrier", kill_in_barrier},
      {"kill-in-recv", kill_in_recv},
      {"kill-unseen", kill_unseen},
      {"ready", ready},
      {"stall", stall},
      {"suite", run_suite},
      {"user-error", user_error},
      {"wait-for-ever", wait_for_ever},
  };
  return table;
}

extern "C" void end_interrupted(int) { ::_exit(130); }

void run(int argc, char** argv) {
  const std::string name = argv[2];
  const Rendezvous place = rendezvous_from_environment();
  const int num_ranks = std::stoi(argv[3]);
  if (place.started_by == StartedBy::None && num_ranks > 0) {
    launch_local_ranks(num_ranks, {argv, argv + argc});
    return;
  }
  C10dOptions options;
  options.deadline = name == "stall" ? milliseconds(1000) : milliseconds(120'000);
  run_rank(place, [&] { return make_gloo_communicator(place, options); }, scenarios().at(name));
}

}  // namespace

int run_scenario(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, end_interrupted);
  try {
    run(argc, argv);
    return 0;
  } catch (const UserError& error) {
    for (const Violation& v : error.violations()) log_error(v.rule + ": " + v.found);
    return 2;
  } catch (const std::exception& error) {
    log_error(error.what());
    return 1;
  }
}

}  // namespace weft
