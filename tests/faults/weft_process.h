// A program under test with everything that it starts: its ranks, what it prints, how it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace weft {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more);

struct Ending {
  int exit_code = -1;  // as a shell shows it: 128 + signal if one ended it
  std::string out, err;
  // Until the program and every process that came from it are gone.
  std::chrono::milliseconds took{0};
  bool left_processes = false;  // some outlived the program by more than a second; killed

  // Lines of `err` that are errors of Weft.
  std::vector<std::string> errors() const;
};

class WeftProcess {
 public:
  // Starts words[0] in a process group of its own. Orphans come to this process, so that none is
  // missed, whatever group or session it is in.
  explicit WeftProcess(const Words& words);
  ~WeftProcess();  // kills what still runs
  WeftProcess(const WeftProcess&) = delete;
  WeftProcess& operator=(const WeftProcess&) = delete;

  // Processes below the program, by the rank that their environment names, once there are `count`;
  // fewer if it ends before or that takes more than half a minute.
  std::map<int, pid_t> ranks(int count);
  void signal_program(int signal) const;  // it alone
  void signal_group(int signal) const;    // as a terminal does
  bool has_ended();
  // `took` counts from here. After `limit` all is killed and counts as left behind.
  Ending wait(std::chrono::seconds limit = std::chrono::seconds(60));

 private:
  void kill_rest();

  pid_t process_ = -1;
  std::string base_;  // of the files that take its output
  bool is_reaped_ = false;
  int status_ = 0;
};

// Starts, waits.
Ending run_to_end(const Words& words);

}  // namespace weft
