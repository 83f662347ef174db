#include "comm/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "comm/child_process.h"
#include "comm/store.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

int signal_pipe[2] = {-1, -1};

extern "C" void note_signal(int signal) {
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(signal_pipe[1], &byte, 1);
}

// While it lives SIGCHLD, SIGINT and SIGTERM arrive as bytes in a pipe; the latter two not if this
// program was started with them ignored.
class SignalsAsBytes {
 public:
  SignalsAsBytes() {
    if (::pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) throw RuntimeFault("no pipe to be had");
    struct sigaction action = {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], &action, &former_[i]);
      const bool is_ignored = former_[i].sa_handler == SIG_IGN && kSignals[i] != SIGCHLD;
      if (is_ignored) ::sigaction(kSignals[i], &former_[i], nullptr);
    }
  }
  ~SignalsAsBytes() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], &former_[i], nullptr);
    }
    for (int& end : signal_pipe) {
      ::close(end);
      end = -1;
    }
  }

  // Those that have come since the last call, but for SIGCHLD.
  static std::vector<int> take() {
    std::vector<int> signals;
    char byte = 0;
    while (::read(signal_pipe[0], &byte, 1) == 1) {
      if (byte != SIGCHLD) signals.push_back(byte);
    }
    return signals;
  }

 private:
  static constexpr std::array kSignals = {SIGCHLD, SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> former_;
};

std::vector<std::string> variables_of(int rank, int num_ranks, int port) {
  const std::string r = std::to_string(rank);
  return {"RANK=" + r,
          "LOCAL_RANK=" + r,
          "WORLD_SIZE=" + std::to_string(num_ranks),
          "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + std::to_string(port),
          "TORCHELASTIC_RESTART_COUNT=0"};
}

std::string in_action(const std::string& action) { return action.empty() ? "" : " in " + action; }

// A line of /proc, as `MemAvailable:   22144480 kB`; empty where there is none.
std::optional<std::int64_t> mebibytes_of(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    std::int64_t kibibytes = 0;
    if (word == name && lines >> kibibytes) return kibibytes / 1024;
  }
  return std::nullopt;
}

// Each rank takes what this process has without what processes share, and then its model.
void require_memory(int num_ranks) {
  const auto each = mebibytes_of("/proc/self/status", "RssAnon:");
  const auto free = mebibytes_of("/proc/meminfo", "MemAvailable:");
  if (!each || !free || *each == 0) return;
  const std::int64_t usable = *free + mebibytes_of("/proc/meminfo", "SwapFree:").value_or(0);
  const std::int64_t most = usable / *each;
  if (num_ranks <= most) return;
  throw UserError({"local-ranks-fit", std::to_string(num_ranks) + " local ranks",
                   "each is a process of at least " + std::to_string(*each) + " MiB and " +
                       std::to_string(usable) + " MiB are free: at most " + std::to_string(most) +
                       " here; more need more hosts (torchrun, mpirun, srun)"});
}

void say_if_crowded(int num_ranks) {
  constexpr unsigned kManyPerCore = 16;
  const unsigned cores = std::thread::hardware_concurrency();
  if (cores == 0 || static_cast<unsigned>(num_ranks) <= kManyPerCore * cores) return;
  log_info("starting " + std::to_string(num_ranks) + " ranks on " + std::to_string(cores) +
           (cores == 1 ? " core" : " cores"));
}

class Launcher {
 public:
  Launcher(int num_ranks, const std::vector<std::string>& arguments, const LauncherOptions& options)
      : options_(options) {
    for (int rank = 0; rank < num_ranks; ++rank) {
      ranks_.emplace_back(rank, arguments, variables_of(rank, num_ranks, server_.port()));
    }
  }

  // Returns when no rank is left: the signal that ended the run, 0 if none did.
  int run() {
    while (any_running()) {
      poll();
      for (const int signal : SignalsAsBytes::take()) interrupt(signal);
      // Reports before deaths: who tells of an error is not who died in silence.
      for (ChildProcess& rank : ranks_) rank.read_reports();
      for (ChildProcess& rank : ranks_) rank.reap();
      note_first_failure();
      end_in_stages();
    }
    return interrupted_by_;
  }

  // Throws the error that ended the run, if one did.
  void throw_first_error() const {
    if (first_failed_ == nullptr) return;
    for (const ChildProcess& rank : ranks_) {
      if (!rank.report()) continue;
      if (const auto* user = std::get_if<UserReport>(&*rank.report())) throw UserError(*user);
      if (const auto* plan = std::get_if<PlanReport>(&*rank.report())) throw PlanError(*plan);
    }
    throw RuntimeFault(describe_failure());
  }

  // "terminated by signal 15 (Terminated); rank 0 was in ...".
  std::string describe_termination() const {
    return "terminated by signal 15 (Terminated)" + describe_others(nullptr);
  }

 private:
  bool any_running() const {
    return std::ranges::any_of(ranks_, [](const ChildProcess& r) { return r.is_running(); });
  }

  void poll() const {
    std::vector<pollfd> files = {{signal_pipe[0], POLLIN, 0}};
    for (const ChildProcess& rank : ranks_) {
      if (rank.pipe() >= 0) files.push_back({rank.pipe(), POLLIN, 0});
    }
    // A death always shows as a signal; the limit is for the stages of ending.
    ::poll(files.data(), files.size(), ending_since_ ? 50 : 1000);
  }

  void interrupt(int signal) {
    if (interrupted_by_ != 0) {
      signal_all(SIGKILL);
      return;
    }
    interrupted_by_ = signal;
    begin_ending(milliseconds(0));
  }

  // A rank that died in silence comes before any that tells of an error: those only noticed.
  void note_first_failure() {
    if (first_failed_ != nullptr && first_failed_->died_in_silence()) return;
    for (const ChildProcess& rank : ranks_) {
      // What SIGTERM or SIGKILL of ours did is nobody's failure.
      if (sent_terminate_) break;
      if (rank.died_in_silence() || (rank.report() && first_failed_ == nullptr)) {
        first_failed_ = &rank;
        begin_ending(options_.notice);
        if (rank.died_in_silence()) return;
      }
    }
  }

  void begin_ending(milliseconds notice) {
    if (ending_since_) return;
    ending_since_ = Clock::now() + notice;
  }

  void end_in_stages() {
    if (!ending_since_ || Clock::now() < *ending_since_) return;
    if (!sent_terminate_) signal_all(SIGTERM);
    sent_terminate_ = true;
    if (Clock::now() >= *ending_since_ + options_.grace) signal_all(SIGKILL);
  }

  void signal_all(int signal) {
    for (ChildProcess& rank : ranks_) rank.send_signal(signal);
  }

  std::string describe_failure() const {
    const ChildProcess& first = *first_failed_;
    const std::string name = "rank " + std::to_string(first.rank());
    if (first.died_in_silence()) {
      return name + " " + first.how_it_ended() + describe_others(&first);
    }
    if (const auto* terminated = std::get_if<TerminatedReport>(&*first.report())) {
      return name + " was terminated by signal 15 (Terminated)" + in_action(terminated->action) +
             describe_others(&first);
    }
    const FaultReport& fault = std::get<FaultReport>(*first.report());
    // The first error of the world, which may be another rank's.
    const std::string text =
        fault.message.starts_with("rank ") ? fault.message : name + ": " + fault.message;
    return text + (fault.action.empty() ? "" : " (" + name + in_action(fault.action) + ")");
  }

  // "; rank 0 noticed in ...; rank 1 was in ...; <the first error of those that noticed>".
  std::string describe_others(const ChildProcess* first) const {
    std::string text, error;
    for (const ChildProcess& rank : ranks_) {
      if (&rank == first || !rank.report()) continue;
      const std::string name = "; rank " + std::to_string(rank.rank());
      if (const auto* fault = std::get_if<FaultReport>(&*rank.report())) {
        text += name + " noticed" + in_action(fault->action);
        if (error.empty()) error = "; " + fault->message;
      } else if (const auto* ended = std::get_if<TerminatedReport>(&*rank.report())) {
        text += name + " was" + (ended->action.empty() ? " told to end" : in_action(ended->action));
      }
    }
    return text + error;
  }

  const LauncherOptions options_;
  StoreServer server_;
  std::deque<ChildProcess> ranks_;
  const ChildProcess* first_failed_ = nullptr;
  int interrupted_by_ = 0;
  std::optional<Clock::time_point> ending_since_;
  bool sent_terminate_ = false;
};

}  // namespace

void launch_local_ranks(int num_ranks, const std::vector<std::string>& arguments,
                        const LauncherOptions& options) {
  require_memory(num_ranks);
  say_if_crowded(num_ranks);
  int signal = 0;
  {
    const SignalsAsBytes signals;
    Launcher launcher(num_ranks, arguments, options);
    signal = launcher.run();
    if (signal == 0) launcher.throw_first_error();
    if (signal == SIGTERM) throw RuntimeFault(launcher.describe_termination());
  }
  if (signal != 0) ::raise(signal);
}

}  // namespace weft
