#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace weft {

void print_result(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EPIPE) {
      return;
    } else if (errno != EINTR) {
      throw RuntimeFault(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
}

void write_result(const OutputConfig& output, std::string_view text) {
  if (output.output.empty()) {
    print_result(text);
  } else {
    write_file(output.output, text, "--output");
  }
}

int terminal_width(const OutputConfig& output, int otherwise) {
  winsize size{};
  const bool terminal = output.output.empty() && isatty(STDOUT_FILENO) == 1;
  const bool known = terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (!known) return otherwise;
  return std::max(40, static_cast<int>(size.ws_col));
}

std::string format_of(const OutputConfig& output, std::string_view otherwise) {
  if (!output.format.empty()) return output.format;
  const bool terminal = output.output.empty() && isatty(STDOUT_FILENO) == 1;
  return terminal ? "text" : std::string(otherwise);
}

}  // namespace weft
