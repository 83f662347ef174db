#include "comm/run_rank.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
#include "comm/records.h"

namespace weft {
namespace {

// What the handler of SIGTERM writes before and after the current action, and where to.
struct Farewell {
  int file = STDERR_FILENO;
  char before[96] = {};
  std::size_t before_length = 0;
  char before_action[8] = {};  // if there is one
  std::size_t before_action_length = 0;
  char after[4] = {};
  std::size_t after_length = 0;
};
Farewell farewell;

// Async-signal-safe.
extern "C" void end_terminated(int) {
  char buffer[sizeof farewell + kMaxActionLength];
  std::size_t length = 0;
  const auto add = [&](const char* text, std::size_t size) {
    std::memcpy(buffer + length, text, size);
    length += size;
  };
  char action[kMaxActionLength];
  const std::size_t action_length = copy_current_action(action, sizeof action);
  add(farewell.before, farewell.before_length);
  if (action_length > 0) add(farewell.before_action, farewell.before_action_length);
  add(action, action_length);
  add(farewell.after, farewell.after_length);
  [[maybe_unused]] const ssize_t written = ::write(farewell.file, buffer, length);
  ::_exit(static_cast<int>(ExitCode::Fault));
}

template <std::size_t N>
void set_text(char (&target)[N], std::size_t& length, const std::string& text) {
  length = std::min(N, text.size());
  std::memcpy(target, text.data(), length);
}

void prepare_farewell(const Rendezvous& place, std::optional<int> launcher) {
  if (launcher) {
    farewell.file = *launcher;
    set_text(farewell.before, farewell.before_length, {kTerminatedKind});
    set_text(farewell.after, farewell.after_length, {kFieldEnd, kRecordEnd, kRecordsEnd});
    return;
  }
  const std::string who =
      place.started_by == StartedBy::None ? "" : "rank " + std::to_string(place.rank) + " was ";
  set_text(farewell.before, farewell.before_length,
           "weft: error: " + who + "terminated by signal 15 (Terminated)");
  set_text(farewell.before_action, farewell.before_action_length, " in ");
  set_text(farewell.after, farewell.after_length, "\n");
}

// A program that was started with SIGTERM ignored goes on ignoring it, but for ranks of the
// launcher, which ends them by it.
void handle_sigterm(bool is_launched) {
  if (std::signal(SIGTERM, end_terminated) == SIG_IGN && !is_launched) {
    std::signal(SIGTERM, SIG_IGN);
  }
}

extern "C" void end_late(int) { ::_exit(static_cast<int>(ExitCode::Fault)); }

// After an error nothing may hold up the end: not a pipe that nobody reads, nor a frozen launcher.
void end_soon() {
  constexpr unsigned kSeconds = 5;
  std::signal(SIGALRM, end_late);
  ::alarm(kSeconds);
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

// "rank 1: ", which an error may carry already.
std::string own_prefix(const Rendezvous& place) {
  return "rank " + std::to_string(place.rank) + ": ";
}

void abort_others(const CommunicatorPtr& communicator, const Rendezvous& place,
                  const std::exception& error) {
  if (!communicator) return;
  const std::string text = error.what();
  communicator->abort(text.starts_with("rank ") ? text : own_prefix(place) + text);
}

// "rank 1 in step 3: ...".
std::string last_words(const Rendezvous& place, const std::exception& error) {
  std::string text = error.what();
  if (text.starts_with(own_prefix(place))) text.erase(0, own_prefix(place).size());
  const std::string action = current_action();
  return "rank " + std::to_string(place.rank) + (action.empty() ? "" : " in " + action) + ": " +
         text;
}

}  // namespace

void say_when_terminated() {
  prepare_farewell(Rendezvous(), std::nullopt);
  handle_sigterm(/*is_launched=*/false);
}

void run_rank(const Rendezvous& place, const std::function<CommunicatorPtr()>& connect,
              const std::function<void(Communicator&)>& body) {
  const std::optional<int> launcher = launcher_pipe();
  prepare_farewell(place, launcher);
  handle_sigterm(launcher.has_value());
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
    end_soon();
    abort_others(communicator, place, error);
    if (launcher) report_and_end(*launcher, error);
    if (dynamic_cast<const UserError*>(&error) || dynamic_cast<const PlanError*>(&error)) throw;
    std::signal(SIGTERM, SIG_IGN);
    log_error(last_words(place, error));
    end_process(ExitCode::Fault);
  }
}

}  // namespace weft
