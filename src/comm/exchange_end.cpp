#include "comm/exchange_end.h"

#include <ATen/core/ivalue.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace weft {
namespace {

// Deadlines are ours: the backend's own starts when an exchange is posted, which may be long before
// anyone needs it.
constexpr std::chrono::hours kForever{24 * 365};

// What matters of "[.../pair.cc:553] Connection closed by peer [127.0.0.1]:4711. This is ...": the
// first sentence.
std::string short_error(std::string text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t place = text.find("] ");
  if (text.starts_with('[') && place != std::string::npos) text.erase(0, place + 2);
  return text.substr(0, text.find(". "));
}

void mark(FaultBoard& board, ExchangeEnd& end, const std::string* error) {
  const TimePoint now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(board.mutex());
    end.is_done = true;
    end.at = now;
    end.has_failed = error != nullptr;
    if (error != nullptr) end.error = short_error(*error);
  }
  board.changed().notify_all();
}

}  // namespace

void mark_end(FaultBoard& board, ExchangeEnd& end) { mark(board, end, nullptr); }

void mark_failure(FaultBoard& board, ExchangeEnd& end, const std::string& error) {
  mark(board, end, &error);
}

void mark_by_future(const BoardPtr& board, const C10dWorkPtr& work, const EndPtr& end) {
  work->getFuture()->addCallback([board, end](c10::ivalue::Future& future) {
    if (future.hasError()) {
      mark_failure(*board, *end, future.tryRetrieveErrorMessage());
    } else {
      mark_end(*board, *end);
    }
  });
}

struct FlowWaiter::Shared {
  BoardPtr board;
  bool is_polled = false;
  std::mutex mutex;
  std::condition_variable added;
  std::deque<std::pair<C10dWorkPtr, EndPtr>> pending;
  bool is_closing = false;

  void wait_for(c10d::Work& work) const {
    if (!is_polled) {
      work.wait(kForever);
      return;
    }
    while (!work.isCompleted()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (work.exception()) std::rethrow_exception(work.exception());
  }
};

FlowWaiter::FlowWaiter(BoardPtr board, bool is_polled) : shared_(std::make_shared<Shared>()) {
  shared_->board = std::move(board);
  shared_->is_polled = is_polled;
  thread_ = std::thread([shared = shared_] { run(shared); });
}

FlowWaiter::~FlowWaiter() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closing = true;
  }
  shared_->added.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FlowWaiter::add(C10dWorkPtr work, EndPtr end) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->pending.emplace_back(std::move(work), std::move(end));
  }
  shared_->added.notify_all();
}

void FlowWaiter::run(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::unique_lock lock(shared->mutex);
    shared->added.wait(lock, [&] { return shared->is_closing || !shared->pending.empty(); });
    if (shared->pending.empty()) return;
    auto [work, end] = std::move(shared->pending.front());
    shared->pending.pop_front();
    lock.unlock();
    try {
      shared->wait_for(*work);
      mark_end(*shared->board, *end);
    } catch (const std::exception& error) {
      mark_failure(*shared->board, *end, error.what());
    }
  }
}

}  // namespace weft
