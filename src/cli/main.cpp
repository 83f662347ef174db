#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/unfinished_file.h"
#include "cli/run.h"

namespace {

extern "C" void end_interrupted(int) {
  weft::remove_unfinished_files();
  _exit(static_cast<int>(weft::ExitCode::Interrupted));
}

// Ends as if no one had asked.
extern "C" void remove_files_and_end(int signal) {
  weft::remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  // Products must not depend on an operand's address; MKL reads this at its first one.
  setenv("MKL_CBWR", "AUTO,STRICT", 0);
  // Weft says in a line of its own what LibTorch would say in a stack trace.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  // A reader that goes away shows as EPIPE where it is written to.
  std::signal(SIGPIPE, SIG_IGN);
  // Whoever started this program with a signal ignored wants it to go on.
  if (std::signal(SIGINT, end_interrupted) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  if (std::signal(SIGTERM, remove_files_and_end) == SIG_IGN) std::signal(SIGTERM, SIG_IGN);
  return static_cast<int>(
      weft::run_command({argv + std::min(argc, 1), argv + argc}, weft::process_environment()));
}
