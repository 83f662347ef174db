#include "faults/weft_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace weft {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void redirect(int descriptor, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, descriptor);
}

[[noreturn]] void become(const Words& words, const std::string& base) {
  ::setpgid(0, 0);
  ::signal(SIGINT, SIG_DFL);  // which is ignored where the tests run in the background
  redirect(STDOUT_FILENO, base + ".out");
  redirect(STDERR_FILENO, base + ".err");
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

void add_descendants(pid_t process, std::vector<pid_t>& all) {
  for (const pid_t child : children_of(process)) {
    all.push_back(child);
    add_descendants(child, all);
  }
}

// -1 if its environment names none.
int rank_of(pid_t process) {
  const std::string environment = read_whole("/proc/" + std::to_string(process) + "/environ");
  for (const std::string name : {"RANK=", "OMPI_COMM_WORLD_RANK="}) {
    std::istringstream entries(environment);
    for (std::string entry; std::getline(entries, entry, '\0');) {
      if (entry.starts_with(name)) return std::stoi(entry.substr(name.size()));
    }
  }
  return -1;
}

}  // namespace

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> Ending::errors() const {
  std::vector<std::string> lines;
  std::istringstream text(err);
  for (std::string line; std::getline(text, line);) {
    if (line.find("weft: error: ") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

WeftProcess::WeftProcess(const Words& words) {
  static int num_started = 0;
  base_ = testing::TempDir() + "weft_faults_" + std::to_string(::getpid()) + "_" +
          std::to_string(num_started++);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  process_ = ::fork();
  if (process_ == 0) become(words, base_);
  if (process_ < 0) throw std::runtime_error("no process to be had");
  ::setpgid(process_, process_);  // whichever of the two comes first
}

WeftProcess::~WeftProcess() {
  kill_rest();
  std::filesystem::remove(base_ + ".out");
  std::filesystem::remove(base_ + ".err");
}

std::map<int, pid_t> WeftProcess::ranks(int count) {
  std::map<int, pid_t> found;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(30);
  while (static_cast<int>(found.size()) < count && !has_ended() && Clock::now() < limit) {
    found.clear();
    std::vector<pid_t> all;
    add_descendants(process_, all);
    for (const pid_t process : all) {
      const int rank = rank_of(process);
      if (rank >= 0) found[rank] = process;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return found;
}

void WeftProcess::signal_program(int signal) const { ::kill(process_, signal); }

void WeftProcess::signal_group(int signal) const { ::kill(-process_, signal); }

bool WeftProcess::has_ended() {
  if (!is_reaped_) is_reaped_ = ::waitpid(process_, &status_, WNOHANG) == process_;
  return is_reaped_;
}

Ending WeftProcess::wait(std::chrono::seconds limit) {
  const Clock::time_point start = Clock::now();
  while (!has_ended() && Clock::now() < start + limit) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  Ending ending;
  ending.left_processes = !has_ended();
  const Clock::time_point grace = Clock::now() + std::chrono::seconds(1);
  while (has_ended()) {
    const pid_t orphan = ::waitpid(-1, nullptr, WNOHANG);
    if (orphan == -1) break;  // none left
    if (orphan == 0 && Clock::now() > grace) {
      ending.left_processes = true;
      break;
    }
    if (orphan == 0) std::this_thread::sleep_for(milliseconds(5));
  }
  ending.took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  kill_rest();
  ending.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  ending.out = read_whole(base_ + ".out");
  ending.err = read_whole(base_ + ".err");
  return ending;
}

void WeftProcess::kill_rest() {
  // Below this process there is nothing but what the tests have started.
  std::vector<pid_t> rest;
  add_descendants(::getpid(), rest);
  for (const pid_t process : rest) ::kill(process, SIGKILL);
  if (!is_reaped_) is_reaped_ = ::waitpid(process_, &status_, 0) == process_;
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

Ending run_to_end(const Words& words) { return WeftProcess(words).wait(); }

}  // namespace weft
