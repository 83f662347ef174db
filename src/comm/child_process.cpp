#include "comm/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "comm/rendezvous.h"

extern char** environ;

namespace weft {
namespace {

constexpr int kCannotExecute = 127;

// The environment with `variables` in place of those of the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  const auto name_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
  std::vector<std::string> result = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool is_replaced = std::ranges::any_of(variables, [&](const std::string& variable) {
      return name_of(variable) == name_of(*entry);
    });
    if (!is_replaced) result.emplace_back(*entry);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// After fork: only what is async-signal-safe, since the parent has threads.
[[noreturn]] void become_rank(pid_t parent, int pipe, char* const* arguments,
                              char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotExecute);  // it died before the line above
  ::fcntl(pipe, F_SETFD, 0);
  ::execve("/proc/self/exe", arguments, environment);
  ::_exit(kCannotExecute);
}

}  // namespace

ChildProcess::ChildProcess(int rank, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& variables)
    : rank_(rank) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw RuntimeFault(std::string("no pipe to be had: ") + std::strerror(errno));
  }
  std::vector<std::string> own_arguments = arguments;
  std::vector<std::string> own_variables = variables;
  own_variables.push_back(std::string(kLauncherVariable) + "=" + std::to_string(ends[1]));
  std::vector<std::string> own_environment = environment_with(own_variables);
  const std::vector<char*> argument_pointers = pointers_to(own_arguments);
  const std::vector<char*> environment_pointers = pointers_to(own_environment);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    become_rank(parent, ends[1], argument_pointers.data(), environment_pointers.data());
  }
  const int error = errno;
  ::close(ends[1]);
  pipe_ = ends[0];
  ::fcntl(pipe_, F_SETFL, O_NONBLOCK);
  if (process_ < 0) {
    ::close(pipe_);
    throw RuntimeFault("rank " + std::to_string(rank) +
                       " cannot be started: " + std::strerror(error));
  }
}

ChildProcess::~ChildProcess() {
  if (is_running()) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (pipe_ >= 0) ::close(pipe_);
}

void ChildProcess::read_reports() {
  char buffer[4096];
  while (pipe_ >= 0) {
    const ssize_t count = ::read(pipe_, buffer, sizeof buffer);
    if (count > 0) {
      bytes_.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0) {
      ::close(pipe_);
      pipe_ = -1;
    } else if (errno != EINTR) {
      break;
    }
  }
  while (!report_ && !bytes_.empty()) {
    report_ = take_report(bytes_);
    if (!report_) break;
  }
}

void ChildProcess::reap() {
  int status = 0;
  if (!is_running() || ::waitpid(process_, &status, WNOHANG) != process_) return;
  status_ = status;
  read_reports();  // its last words came before its end
}

void ChildProcess::send_signal(int signal) {
  if (is_running()) ::kill(process_, signal);
}

std::string ChildProcess::how_it_ended() const {
  if (!status_) return "still runs";
  if (WIFSIGNALED(*status_)) {
    const int signal = WTERMSIG(*status_);
    return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(*status_));
}

int ChildProcess::exit_code() const {
  return status_ && WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -1;
}

}  // namespace weft
