#include "cli/output.h"

#include <unistd.h>

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

std::string format_of(const OutputConfig& output, std::string_view otherwise) {
  if (!output.format.empty()) return output.format;
  const bool terminal = output.output.empty() && isatty(STDOUT_FILENO) == 1;
  return terminal ? "text" : std::string(otherwise);
}

}  // namespace weft
