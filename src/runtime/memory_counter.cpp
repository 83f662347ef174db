#include "runtime/memory_counter.h"

#include <algorithm>

namespace weft {

class MemoryCounter::Reporter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*ptr*/, std::int64_t alloc_size, std::size_t /*allocated*/,
                         std::size_t /*reserved*/, c10::Device /*device*/) override {
    bytes += alloc_size;
    peak = std::max(peak, bytes);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t bytes = 0;
  std::int64_t peak = 0;
};

MemoryCounter::MemoryCounter()
    : reporter_(std::make_shared<Reporter>()),
      guard_(std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, reporter_)) {
}

MemoryCounter::~MemoryCounter() = default;

void MemoryCounter::reset() { reporter_->bytes = reporter_->peak = 0; }

std::int64_t MemoryCounter::bytes() const { return reporter_->bytes; }

std::int64_t MemoryCounter::peak_bytes() const { return reporter_->peak; }

}  // namespace weft
