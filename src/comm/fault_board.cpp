#include "comm/fault_board.h"

#include <chrono>

#include "base/error.h"

namespace weft {
namespace {

constexpr const char* kKey = "fault";
constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

FaultBoard::FaultBoard(Rank rank, StorePtr store, StorePtr watched)
    : rank_(rank), store_(std::move(store)), watched_(std::move(watched)) {
  watcher_ = std::thread([this] { watch(); });
}

FaultBoard::~FaultBoard() { stop_watching(); }

void FaultBoard::stop_watching() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

bool FaultBoard::has_fault() {
  const std::lock_guard lock(mutex_);
  return fault_.has_value();
}

void FaultBoard::set_fault(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!fault_) fault_ = reason;
  }
  changed_.notify_all();
}

std::string FaultBoard::post(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (fault_) return *fault_;
  }
  std::string first = reason;
  try {
    first = store_->compareSet(kKey, "", reason);
  } catch (const std::exception&) {
    // The store went first; this rank's own reason is then the best there is.
  }
  set_fault(first);
  const std::lock_guard lock(mutex_);
  return *fault_;
}

void FaultBoard::fail(const std::string& reason) { throw RuntimeFault(post(reason)); }

void FaultBoard::watch() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_ && !fault_) {
    lock.unlock();
    try {
      if (watched_->check({kKey})) set_fault(watched_->get_to_str(kKey));
    } catch (const std::exception&) {
      set_fault("rank " + std::to_string(rank_.value) +
                ": the store is gone: the process that hosts it (rank 0, or the program that "
                "started the ranks) has ended");
    }
    lock.lock();
    changed_.wait_for(lock, kInterval, [this] { return is_stopping_ || fault_.has_value(); });
  }
}

}  // namespace weft
