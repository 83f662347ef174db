// Ranks as processes: LibTorch's c10d process groups, one per group of ours.
#pragma once

#include <chrono>
#include <vector>

#include "comm/communicator.h"
#include "comm/rendezvous.h"
#include "comm/shared_setting.h"

namespace weft {

struct C10dOptions {
  std::chrono::milliseconds deadline{600'000};  // of every wait, and of meeting the other ranks
  std::vector<SharedSetting> settings = {};     // that the ranks have to agree on when they meet
};

// Returns when all ranks have met and agreed on `settings`. Throws RuntimeFault if the deadline
// passes before that, UserError, the same on all ranks, if one differs, or if another process has
// come as this rank. Once one rank aborts, loses a peer or meets its deadline, every wait of every
// rank ends with that first error, within a second of its own accord. Nothing waits for longer for
// the store, whose process may be frozen or cut off: ranks then end with their own reason.
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
