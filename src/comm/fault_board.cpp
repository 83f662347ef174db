#include "comm/fault_board.h"

#include <algorithm>

#include "base/error.h"
#include "comm/fault_text.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kFaultKey = "fault";
constexpr const char* kSignKey = "alive/";  // and the rank
constexpr milliseconds kInterval{100};
constexpr milliseconds kPostLimit{2000};
constexpr milliseconds kLongestSilence{5000};
constexpr int kSignsInSilence = 5;  // that a process shows if it runs

}  // namespace

FaultBoard::FaultBoard(const Rendezvous& place, TimedStorePtr store, TimedStorePtr watched,
                       milliseconds deadline)
    : place_(place),
      store_(std::move(store)),
      watched_(std::move(watched)),
      deadline_(deadline),
      longest_silence_(std::min(kLongestSilence, deadline * 2 / 5)) {
  watcher_ = std::thread([this] { watch(); });
}

FaultBoard::~FaultBoard() { stop_watching(); }

void FaultBoard::stop_watching() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  watched_->end("no longer watched");
  if (watcher_.joinable()) watcher_.join();
}

bool FaultBoard::has_fault() {
  const std::lock_guard lock(mutex_);
  return fault_.has_value();
}

bool FaultBoard::is_stopping() {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

void FaultBoard::set_fault(const std::string& reason) {
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    if (!fault_) {
      fault_ = reason;
      fault_at_ = steady_clock::now();
    }
    first = *fault_;
  }
  changed_.notify_all();
  store_->end(first);
}

std::string FaultBoard::post(const std::string& reason) {
  if (!has_fault()) set_fault(first_with(reason));
  std::unique_lock lock(mutex_);
  const std::string first = *fault_;
  const auto end = fault_at_ + 3 * kInterval;
  lock.unlock();
  // The store goes with this process: the others' watchers come first.
  if (place_.hosts_store && place_.world_size > 1) std::this_thread::sleep_until(end);
  return first;
}

std::string FaultBoard::first_with(const std::string& reason) {
  std::string first = reason;
  try {
    first = store_->run(kPostLimit, [reason](c10d::Store& store) {
      return store.compareSet(kFaultKey, "", reason);
    });
  } catch (const RuntimeFault& error) {
    first = reason + "; " + error.what();
  } catch (const std::exception&) {
    // The store went first; this rank's own reason is then the best there is.
  }
  return first;
}

void FaultBoard::fail(const std::string& reason) { throw RuntimeFault(post(reason)); }

void FaultBoard::watch() {
  const std::string own_sign = kSignKey + std::to_string(place_.rank);
  const auto pause = std::max<milliseconds>(kInterval, longest_silence_ / kSignsInSilence);
  auto next_sign = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!is_stopping_ && !fault_) {
    lock.unlock();
    const bool is_due = steady_clock::now() >= next_sign;
    if (is_due) next_sign = steady_clock::now() + pause;
    try {
      const auto fault = watched_->run(deadline_, [=](c10d::Store& store) {
        if (is_due) store.add(own_sign, 1);
        return store.check({kFaultKey}) ? store.get_to_str(kFaultKey) : std::string();
      });
      if (!fault.empty()) set_fault(fault);
    } catch (const RuntimeFault& error) {
      if (!is_stopping()) set_fault("rank " + std::to_string(place_.rank) + ": " + error.what());
    } catch (const std::exception&) {
      set_fault("rank " + std::to_string(place_.rank) + ": the store is gone: " +
                place_.store_host + ", which hosts it, has ended");
    }
    lock.lock();
    changed_.wait_for(lock, kInterval, [this] { return is_stopping_ || fault_.has_value(); });
  }
}

SignsOfLife FaultBoard::signs_of_life() {
  try {
    return store_->run(longest_silence_, [num_ranks = place_.world_size](c10d::Store& store) {
      SignsOfLife signs;
      for (int rank = 0; rank < num_ranks; ++rank) {
        signs.push_back(store.add(kSignKey + std::to_string(rank), 0));
      }
      return signs;
    });
  } catch (const std::exception&) {
    return {};
  }
}

std::string FaultBoard::silent_since(const SignsOfLife& before) {
  const SignsOfLife now = before.empty() ? before : signs_of_life();
  std::vector<Rank> silent;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Rank rank(static_cast<int>(i));
    if (now[i] == before[i] && rank != Rank(place_.rank)) silent.push_back(rank);
  }
  if (silent.empty()) return "";
  return ranks_text(silent) + (silent.size() == 1
                                   ? " does not respond: it has stopped or cannot be reached; "
                                   : " do not respond: they have stopped or cannot be reached; ");
}

}  // namespace weft
