// Runs the real binary.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weft {

struct WeftRun {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `words` as a shell takes them, with `prefix` before the program (assignments) and `suffix` behind
// its words (redirections).
inline WeftRun run_weft(const std::string& words, const std::string& folder = ".",
                        const std::string& prefix = "", const std::string& suffix = "") {
  const std::string base = testing::TempDir() + "weft_run_" + std::to_string(getpid());
  const std::string command = "cd '" + folder + "' && " + prefix + " '" WEFT_BINARY "' " + words +
                              " >'" + base + ".out' 2>'" + base + ".err' </dev/null " + suffix;
  const int status = std::system(command.c_str());
  WeftRun run;
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  run.out = slurp(base + ".out");
  run.err = slurp(base + ".err");
  std::filesystem::remove(base + ".out");
  std::filesystem::remove(base + ".err");
  return run;
}

}  // namespace weft
