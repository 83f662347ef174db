// Ranks as processes: LibTorch's c10d process groups, one per group of ours.
#pragma once

#include <chrono>

#include "comm/communicator.h"
#include "comm/rendezvous.h"

namespace weft {

struct C10dOptions {
  std::chrono::milliseconds deadline{600'000};  // of every wait, and of meeting the other ranks
};

// Meets the other ranks and returns when their store is reached. Throws RuntimeFault if the
// deadline passes before that. Once one rank aborts, loses a peer or meets its deadline, every wait
// of every rank ends with that first error, within a second of its own accord.
//
// The last owner of the communicator and its groups waits until all ranks are through if it hosts
// the store. After a fault nothing is waited for; connections are left to the end of the process.
//
// Gloo binds to the interface in GLOO_SOCKET_IFNAME, else to the address from which the master's is
// reached. CPU tensors.
CommunicatorPtr make_gloo_communicator(const Rendezvous& place, const C10dOptions& options);

// CUDA tensors on the current device. Throws UserError if this LibTorch has no NCCL.
CommunicatorPtr make_nccl_communicator(const Rendezvous& place, const C10dOptions& options);

}  // namespace weft
