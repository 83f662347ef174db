#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "comm/c10d_communicator.h"

namespace weft {

CommunicatorPtr make_nccl_communicator(const Rendezvous& place, const C10dOptions& options) {
  BackendKind kind;
  kind.is_stream_ordered = true;
  kind.create = [deadline = options.deadline](const c10::intrusive_ptr<c10d::Store>& store,
                                              int rank, int size) -> BackendPtr {
    const auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
    nccl_options->timeout = deadline;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, nccl_options);
  };
  return make_c10d_communicator(place, options, kind, gloo_backend(place, options));
}

}  // namespace weft
