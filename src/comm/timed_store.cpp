#include "comm/timed_store.h"

#include "base/error.h"
#include "comm/countdown.h"
#include "comm/fault_text.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

// What a call that has a timeout of its own gets beyond it, to end by that.
constexpr milliseconds kBeyondTimeout{1000};
// For a call that nobody waits for any more, before its thread is left behind.
constexpr milliseconds kLastAnswer{1000};

}  // namespace

struct TimedStore::Shared {
  struct Call {
    Calls calls;
    bool is_done = false;
    std::exception_ptr error;
  };
  using CallPtr = std::shared_ptr<Call>;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<CallPtr> waiting;
  bool is_busy = false;  // the thread is in a call
  bool is_closing = false;
  std::optional<std::string> ended;
};

TimedStore::TimedStore(std::string name, Milliseconds limit, std::function<StorePtr()> connect)
    : Store(limit),
      name_(std::move(name)),
      limit_(limit),
      shared_(std::make_shared<Shared>()),
      thread_([shared = shared_, connect = std::move(connect)] { serve(shared, connect); }) {
  try {
    has_extended_api_ =
        run(limit_ + kBeyondTimeout, [](c10d::Store& store) { return store.hasExtendedApi(); });
  } catch (...) {
    close();
    throw;
  }
}

TimedStore::~TimedStore() { close(); }

void TimedStore::close() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_closing = true;
  shared_->changed.notify_all();
  const bool is_free = Countdown(kLastAnswer).wait(shared_->changed, lock, [this] {
    return !shared_->is_busy;
  });
  lock.unlock();
  if (is_free) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void TimedStore::end(const std::string& reason) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->ended) shared_->ended = reason;
  }
  shared_->changed.notify_all();
}

// A store that cannot be had is the error of the first call.
void TimedStore::serve(const std::shared_ptr<Shared>& shared,
                       const std::function<StorePtr()>& connect) {
  StorePtr store;
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->is_closing || !shared->waiting.empty(); });
    if (shared->is_closing) return;
    const Shared::CallPtr call = shared->waiting.front();
    shared->waiting.pop_front();
    shared->is_busy = true;
    lock.unlock();
    try {
      if (!store) store = connect();
      call->calls(*store);
    } catch (...) {
      call->error = std::current_exception();
    }
    lock.lock();
    shared->is_busy = false;
    call->is_done = true;
    shared->changed.notify_all();
  }
}

void TimedStore::wait_for(Milliseconds limit, Calls calls) {
  const auto call = std::make_shared<Shared::Call>();
  call->calls = std::move(calls);
  std::unique_lock lock(shared_->mutex);
  shared_->waiting.push_back(call);
  shared_->changed.notify_all();
  Countdown(limit).wait(shared_->changed, lock,
                        [&] { return call->is_done || shared_->ended.has_value(); });
  if (call->is_done) {
    if (call->error) std::rethrow_exception(call->error);
    return;
  }
  std::erase(shared_->waiting, call);
  throw RuntimeFault(shared_->ended.value_or(name_ + " has not answered for " +
                                             seconds_text(limit) +
                                             ": it has stopped or cannot be reached"));
}

StorePtr TimedStore::clone() {
  return c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(this);
}

void TimedStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  wait_for(limit_, [=](c10d::Store& store) { store.set(key, value); });
}

std::vector<std::uint8_t> TimedStore::compareSet(const std::string& key,
                                                 const std::vector<std::uint8_t>& expected,
                                                 const std::vector<std::uint8_t>& desired) {
  return run(limit_, [=](c10d::Store& store) { return store.compareSet(key, expected, desired); });
}

std::vector<std::uint8_t> TimedStore::get(const std::string& key) {
  return run(limit_ + kBeyondTimeout, [=](c10d::Store& store) { return store.get(key); });
}

std::int64_t TimedStore::add(const std::string& key, std::int64_t value) {
  return run(limit_, [=](c10d::Store& store) { return store.add(key, value); });
}

bool TimedStore::deleteKey(const std::string& key) {
  return run(limit_, [=](c10d::Store& store) { return store.deleteKey(key); });
}

bool TimedStore::check(const std::vector<std::string>& keys) {
  return run(limit_, [=](c10d::Store& store) { return store.check(keys); });
}

std::int64_t TimedStore::getNumKeys() {
  return run(limit_, [](c10d::Store& store) { return store.getNumKeys(); });
}

void TimedStore::wait(const std::vector<std::string>& keys) { wait(keys, limit_); }

void TimedStore::wait(const std::vector<std::string>& keys, const Milliseconds& timeout) {
  wait_for(timeout + kBeyondTimeout,
           [keys, timeout](c10d::Store& store) { store.wait(keys, timeout); });
}

void TimedStore::append(const std::string& key, const std::vector<std::uint8_t>& value) {
  wait_for(limit_, [=](c10d::Store& store) { store.append(key, value); });
}

std::vector<std::vector<std::uint8_t>> TimedStore::multiGet(const std::vector<std::string>& keys) {
  return run(limit_ + kBeyondTimeout, [=](c10d::Store& store) { return store.multiGet(keys); });
}

void TimedStore::multiSet(const std::vector<std::string>& keys,
                          const std::vector<std::vector<std::uint8_t>>& values) {
  wait_for(limit_, [=](c10d::Store& store) { store.multiSet(keys, values); });
}

}  // namespace weft
