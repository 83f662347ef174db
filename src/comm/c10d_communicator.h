// The communicator over any c10d backend. Internal to comm/.
#pragma once

#include <chrono>
#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/c10d.h"

namespace weft {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

struct BackendKind {
  std::function<BackendPtr(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size)>
      create;
  // Completion is in the order of a device's stream (NCCL): wait() makes the stream wait and the
  // end is found by asking. Otherwise (Gloo) a collective's future calls back, and a message says
  // that it is done only to one who waits for it.
  bool is_stream_ordered = false;
};

CommunicatorPtr make_c10d_communicator(const Rendezvous& place, const C10dOptions& options,
                                       const BackendKind& kind);

}  // namespace weft
