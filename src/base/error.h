// Failures: the user's, the plan's, and ours. Libraries throw; only the command line turns one into
// an exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// Exit codes of cli.md.
enum class ExitCode { Done = 0, Fault = 1, UserInput = 2, PlanRefused = 3, Interrupted = 130 };

// One thing wrong with what the user gave: a broken rule, a value out of range, an unknown name.
struct Violation {
  std::string rule;     // stable name, e.g. "moe-fb-overlap-needs-pairs"
  std::string found;    // flag or file and its value, e.g. "--num-microbatches 0"
  std::string message;  // what is allowed, what to change, the nearest valid choice

  bool operator==(const Violation&) const = default;
};

// The user's input is wrong; carries every violation at once. Exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::vector<Violation> violations);
  explicit UserError(Violation violation)
      : UserError(std::vector<Violation>{std::move(violation)}) {}

  const std::vector<Violation>& violations() const { return violations_; }

 private:
  std::vector<Violation> violations_;
};

// One thing a verifier found.
struct Finding {
  std::string verifier;  // name of the verifier, e.g. "verify_data_flow"
  std::string message;   // what is wrong, in a line; below it the places where it shows, as a grid

  bool operator==(const Finding&) const = default;
};

// A schedule that was read or built does not pass the verifiers. Exit code 3.
class PlanError : public std::runtime_error {
 public:
  explicit PlanError(std::vector<Finding> findings);

  const std::vector<Finding>& findings() const { return findings_; }

 private:
  std::vector<Finding> findings_;
};

// A fault of the machine or of another rank: file system, network, a dead peer. Exit code 1.
class RuntimeFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A condition that only a bug of ours can break. Exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with the place if `condition` is false.
// The defaults are the caller's place: Clang 14 has no std::source_location.
void weft_assert(bool condition, const char* what, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE());

}  // namespace weft
