// One rank's process as the launcher sees it. Internal to comm/.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "comm/rank_report.h"

namespace weft {

class ChildProcess {
 public:
  // Starts this executable with `arguments`; `variables` ("NAME=value") replace those of the same
  // name. The child gets a pipe for its reports, named in kLauncherVariable.
  ChildProcess(int rank, const std::vector<std::string>& arguments,
               const std::vector<std::string>& variables);
  ~ChildProcess();  // kills what still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int rank() const { return rank_; }
  int pipe() const { return pipe_; }  // non-blocking; -1 once it has ended
  bool is_running() const { return !status_.has_value(); }
  bool has_failed() const { return status_.has_value() && *status_ != 0; }
  const std::optional<RankReport>& report() const { return report_; }
  // Ended by itself without saying why: a signal from outside, a crash, a full memory.
  bool died_in_silence() const { return has_failed() && !report_; }

  void read_reports();  // keeps the first
  void reap();          // notes the status if it has ended, without blocking
  void send_signal(int signal);
  // "was killed by signal 9 (Killed)", "ended with exit code 7".
  std::string how_it_ended() const;
  int exit_code() const;  // -1 if it was killed

 private:
  const int rank_;
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string bytes_;
  std::optional<RankReport> report_;
  std::optional<int> status_;  // of waitpid
};

}  // namespace weft
