// Messages for a person, on standard error: `weft: warning: ...`. Coloured only on a terminal, and
// never where NO_COLOR is set to anything but an empty string.
#pragma once

#include <string_view>

namespace weft {

enum class LogLevel { Debug, Info, Warning, Error };

// One message; safe from any thread. A message of several lines stays together. What it quotes
// reaches the terminal as text: see base/escape.h.
void log(LogLevel level, std::string_view message);
inline void log_debug(std::string_view message) { log(LogLevel::Debug, message); }
inline void log_info(std::string_view message) { log(LogLevel::Info, message); }
inline void log_warning(std::string_view message) { log(LogLevel::Warning, message); }
inline void log_error(std::string_view message) { log(LogLevel::Error, message); }

// Messages below this level are dropped. Info to begin with.
void set_log_level(LogLevel level);

// True if the file descriptor is a terminal and NO_COLOR does not forbid colour.
bool colour_allowed(int file_descriptor);

}  // namespace weft
