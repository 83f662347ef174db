#include "train/metrics_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "train/files.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json value_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// A terminal, a pipe or /dev/null can be shared, and cannot be cut.
bool is_regular(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw RuntimeFault(std::string(what) + " " + path + ": " + std::system_category().message(errno));
}

// Bytes of the lines before the first of a later step, or before a last line that is cut.
std::int64_t bytes_up_to(const std::string& path, std::int64_t step) {
  std::ifstream file(path, std::ios::binary);
  std::int64_t bytes = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto at = parsed.is_object() ? parsed.find("step") : parsed.end();
    if (at != parsed.end() && at->is_number_integer() && at->get<std::int64_t>() > step) break;
    bytes += static_cast<std::int64_t>(line.size()) + 1;
  }
  return bytes;
}

}  // namespace

std::string print_metrics(const StepMetrics& m) {
  Json line = {{"step", m.step},
               {"loss", m.loss},
               {"aux_loss", m.aux_loss},
               {"mtp_loss", m.mtp_loss},
               {"grad_norm", m.grad_norm},
               {"learning_rate", m.learning_rate},
               {"tokens", m.tokens},
               {"step_ms", m.step_ms},
               {"tokens_per_second", m.tokens_per_second},
               {"all_to_all_ms", m.all_to_all_ms},
               {"all_to_all_exposed_ms", m.all_to_all_exposed_ms},
               {"all_to_all_hidden_steady", value_or_null(m.all_to_all_hidden_steady)},
               {"all_to_all_hidden_outside", value_or_null(m.all_to_all_hidden_outside)},
               {"counts_exposed_ms", m.counts_exposed_ms},
               {"p2p_exposed_ms", m.p2p_exposed_ms},
               {"bubble_ms", m.bubble_ms},
               {"peak_activation_bytes", m.peak_activation_bytes},
               {"peak_live_chunks", m.peak_live_chunks},
               {"max_pending_wgrads", m.max_pending_wgrads}};
  if (m.gradient_digest) line["gradient_digest"] = to_hex(*m.gradient_digest);
  if (m.parameter_digest) line["parameter_digest"] = to_hex(*m.parameter_digest);
  if (m.validation_loss) line["validation_loss"] = *m.validation_loss;
  return line.dump();
}

MetricsFile::MetricsFile(const std::string& path, std::int64_t after_step) : path_(path) {
  is_new_ = ::access(path.c_str(), F_OK) != 0;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot open", path);
  if (!is_regular(descriptor_)) return;
  hold();
  struct stat status{};
  const std::int64_t kept = after_step > 0 ? bytes_up_to(path, after_step) : 0;
  if (::fstat(descriptor_, &status) == 0 && kept < status.st_size &&
      ::ftruncate(descriptor_, kept) != 0) {
    const int error = errno;
    ::close(descriptor_);
    errno = error;
    fail("cannot cut", path);
  }
}

// Where there are no locks, two runs in one file are the user's to avoid.
void MetricsFile::hold() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw UserError(
      Violation{"output-in-use", "--metrics " + path_,
                "another run is writing there; wait for its end, or give another file"});
}

MetricsFile::~MetricsFile() {
  ::close(descriptor_);
  if (is_new_ && !has_lines_) ::unlink(path_.c_str());
}

void MetricsFile::write(const StepMetrics& metrics) {
  const std::string line = print_metrics(metrics) + "\n";
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);  // -1 of a pipe
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) {
    has_lines_ = true;
    return;
  }
  const int error = written < 0 ? errno : ENOSPC;
  if (written > 0 && before >= 0 && ::ftruncate(descriptor_, before) != 0) has_lines_ = true;
  errno = error;
  fail("cannot write", path_);
}

}  // namespace weft
