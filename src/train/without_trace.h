// LibTorch's errors for a user.
#pragma once

#include <c10/util/Exception.h>

#include "base/error.h"

namespace weft {

// What `run` returns. An error of LibTorch's becomes a RuntimeFault without the trace of LibTorch's
// own stack, which tells a user nothing.
template <class Run>
auto without_trace(const Run& run) {
  try {
    return run();
  } catch (const c10::Error& error) {
    throw RuntimeFault(error.what_without_backtrace());
  }
}

}  // namespace weft
