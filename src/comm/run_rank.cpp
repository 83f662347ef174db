#include "comm/run_rank.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "comm/current_action.h"
#include "comm/rank_report.h"

namespace weft {
namespace {

// What the handler of SIGTERM writes before and after the current action, and where to.
struct Farewell {
  int file = STDERR_FILENO;
  char before[96] = {};
  std::size_t before_length = 0;
  char after[4] = {};
  std::size_t after_length = 0;
};
Farewell farewell;

// Async-signal-safe.
extern "C" void end_terminated(int) {
  char buffer[sizeof farewell.before + kMaxActionLength + sizeof farewell.after];
  std::size_t length = farewell.before_length;
  std::memcpy(buffer, farewell.before, length);
  length += copy_current_action(buffer + length, kMaxActionLength);
  std::memcpy(buffer + length, farewell.after, farewell.after_length);
  length += farewell.after_length;
  [[maybe_unused]] const ssize_t written = ::write(farewell.file, buffer, length);
  ::_exit(static_cast<int>(ExitCode::Fault));
}

void prepare_farewell(const Rendezvous& place, std::optional<int> launcher) {
  if (launcher) {
    farewell.file = *launcher;
    farewell.before[0] = kTerminatedKind;
    farewell.before_length = 1;
    const char marks[] = {kFieldEnd, kRecordEnd, kReportEnd};
    std::memcpy(farewell.after, marks, sizeof marks);
    farewell.after_length = sizeof marks;
    return;
  }
  farewell.before_length = static_cast<std::size_t>(
      std::snprintf(farewell.before, sizeof farewell.before,
                    "weft: error: rank %d was terminated in ", place.rank));
  farewell.after[0] = '\n';
  farewell.after_length = 1;
}

// The pipe to the launcher, if it started this process.
std::optional<int> launcher_pipe() {
  const char* value = std::getenv(kLauncherVariable);
  if (value == nullptr) return std::nullopt;
  int pipe = -1;
  const std::string_view text(value);
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), pipe);
  const bool is_number = error == std::errc() && rest == text.data() + text.size();
  if (!is_number || ::fcntl(pipe, F_GETFD) == -1) {
    throw UserError({"rendezvous", std::string(kLauncherVariable) + "=" + value,
                     "is set by `weft --local-ranks` for its ranks only; unset it"});
  }
  return pipe;
}

void write_all(int file, const std::string& bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
    if (count <= 0) return;  // the launcher is gone; so will this rank be
    written += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void end_process(ExitCode code) {
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

[[noreturn]] void report_and_end(int launcher, const std::exception& error) {
  // From here on the report says it all.
  std::signal(SIGTERM, SIG_IGN);
  if (const auto* user = dynamic_cast<const UserError*>(&error)) {
    write_all(launcher, encode(UserReport(user->violations())));
    end_process(ExitCode::UserInput);
  }
  if (const auto* plan = dynamic_cast<const PlanError*>(&error)) {
    write_all(launcher, encode(PlanReport(plan->findings())));
    end_process(ExitCode::PlanRefused);
  }
  write_all(launcher, encode(FaultReport{current_action(), error.what()}));
  end_process(ExitCode::Fault);
}

void abort_others(const CommunicatorPtr& communicator, const Rendezvous& place,
                  const std::exception& error) {
  if (!communicator) return;
  const std::string text = error.what();
  const std::string prefix = "rank " + std::to_string(place.rank) + ": ";
  communicator->abort(text.starts_with("rank ") ? text : prefix + text);
}

}  // namespace

void run_rank(const Rendezvous& place, const std::function<CommunicatorPtr()>& connect,
              const std::function<void(Communicator&)>& body) {
  const std::optional<int> launcher = launcher_pipe();
  prepare_farewell(place, launcher);
  std::signal(SIGTERM, end_terminated);
  if (launcher) {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
  }
  CommunicatorPtr communicator;
  try {
    communicator = connect();
    body(*communicator);
    communicator.reset();
    std::signal(SIGTERM, SIG_DFL);
  } catch (const std::exception& error) {
    abort_others(communicator, place, error);
    if (launcher) report_and_end(*launcher, error);
    if (dynamic_cast<const UserError*>(&error) || dynamic_cast<const PlanError*>(&error)) throw;
    std::signal(SIGTERM, SIG_IGN);
    const std::string action = current_action();
    log_error("rank " + std::to_string(place.rank) + (action.empty() ? "" : " in " + action) +
              ": " + error.what());
    end_process(ExitCode::Fault);
  }
}

}  // namespace weft
