// Finding out when c10d exchanges end. Internal to comm/.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "comm/communicator.h"
#include "comm/fault_board.h"

namespace weft {

using BoardPtr = std::shared_ptr<FaultBoard>;
using C10dWorkPtr = c10::intrusive_ptr<c10d::Work>;

// How an exchange ended; guarded by the board's mutex. Holds the tensors that the backend, which is
// given aliases, reads and writes: they stay until it is done, and are then dropped by the thread
// that waited, which counts the memory.
struct ExchangeEnd {
  bool is_done = false;
  bool has_failed = false;
  std::string error;
  TimePoint at;
  std::vector<at::Tensor> tensors;
};
using EndPtr = std::shared_ptr<ExchangeEnd>;

void mark_end(FaultBoard& board, ExchangeEnd& end);
void mark_failure(FaultBoard& board, ExchangeEnd& end, const std::string& error);

// Has the future of `work` mark the end.
void mark_by_future(const BoardPtr& board, const C10dWorkPtr& work, const EndPtr& end);

// Waits for the works of one flow in order, in a thread of its own, and marks their ends.
class FlowWaiter {
 public:
  // With `is_polled` it asks whether a work is done; otherwise it waits for it.
  FlowWaiter(BoardPtr board, bool is_polled);
  // Waits for what is pending, unless it was abandoned.
  ~FlowWaiter();

  void add(C10dWorkPtr work, EndPtr end);
  // Leaves the thread to the end of the process: what is pending may never be done.
  void abandon() { thread_.detach(); }

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this after a fault
  std::thread thread_;
};

}  // namespace weft
