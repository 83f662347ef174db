// Running a program with a deadline and reading what it prints.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weft {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if one ended it
  std::string output;  // standard output and error
  // From its start, or from when `on_text` was seen, to the end of the program and of every process
  // that it started.
  std::chrono::milliseconds took{0};
  bool is_late = false;  // killed with its descendants' pipes still open
};

struct ProgramOptions {
  std::vector<std::string> environment;  // "NAME=value", beside this process's own
  std::chrono::milliseconds limit{100'000};
  std::string text;                      // once seen in the output ...
  std::function<void(int pid)> on_text;  // ... this is called
};

ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramOptions& options = {});

// The path of this executable.
std::string own_path();

}  // namespace weft
