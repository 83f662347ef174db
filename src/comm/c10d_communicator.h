// The communicator over any c10d backend. Internal to comm/.
#pragma once

#include <chrono>
#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/c10d.h"

namespace weft {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

// How the groups of a communicator move bytes.
struct BackendKind {
  std::function<BackendPtr(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size)>
      create;
  // Completion is in the order of a device's stream (NCCL): wait() makes the stream wait and the
  // end is found by asking. Otherwise (Gloo) a collective's future calls back, and a message says
  // that it is done only to one who waits for it.
  bool is_stream_ordered = false;
};

BackendKind gloo_backend(const Rendezvous& place, const C10dOptions& options);

// `device` for tensors where compute is. The world's group, over which ranks gather names, losses
// and times, exchanges tensors of the host by `host`.
CommunicatorPtr make_c10d_communicator(const Rendezvous& place, const C10dOptions& options,
                                       const BackendKind& device, const BackendKind& host);

}  // namespace weft
