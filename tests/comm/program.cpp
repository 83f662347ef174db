#include "comm/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void become(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, int output) {
  ::setpgid(0, 0);  // so that all of it can be ended
  ::signal(SIGINT, SIG_DFL);  // which is ignored where the tests run in the background
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

}  // namespace

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t process = ::fork();
  if (process == 0) become(arguments, options.environment, ends[1]);
  ::close(ends[1]);

  ProgramResult result;
  Clock::time_point start = Clock::now();
  const Clock::time_point limit = start + options.limit;
  bool was_seen = options.text.empty();
  // The pipe ends when the last process that holds it does.
  while (true) {
    pollfd file = {ends[0], POLLIN, 0};
    if (Clock::now() >= limit) {
      result.is_late = true;
      ::kill(-process, SIGKILL);
      break;
    }
    if (::poll(&file, 1, 100) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count <= 0) break;
    result.output.append(buffer, static_cast<std::size_t>(count));
    if (!was_seen && result.output.find(options.text) != std::string::npos) {
      was_seen = true;
      start = Clock::now();
      options.on_text(process);
    }
  }
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace weft
