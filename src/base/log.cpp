#include "base/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/escape.h"

namespace weft {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Never destroyed: threads may still log while the process ends.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    const spdlog::color_mode mode =
        colour_allowed(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(mode);
    auto* made = new spdlog::logger("weft", sink);
    made->set_pattern("weft: %^%l%$: %v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

void log(LogLevel level, std::string_view message) {
  const std::string shown = escaped(message);
  logger().log(spdlog_level(level), spdlog::string_view_t(shown.data(), shown.size()));
}

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

bool colour_allowed(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(file_descriptor) == 1;
}

}  // namespace weft
