// Bytes that the calling thread's tensors hold, as LibTorch's allocators report them.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft {

class MemoryCounter {
 public:
  // Counts what the calling thread allocates and frees from here on, until destroyed. A thread that
  // drops a counted tensor without a counter of its own is missed: keep tensors on one thread.
  MemoryCounter();
  ~MemoryCounter();
  MemoryCounter(const MemoryCounter&) = delete;
  MemoryCounter& operator=(const MemoryCounter&) = delete;

  // Forgets the past: now is zero and the peak is zero.
  void reset();
  std::int64_t bytes() const;       // since reset
  std::int64_t peak_bytes() const;  // since reset

 private:
  class Reporter;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<c10::DebugInfoGuard> guard_;
};

}  // namespace weft
