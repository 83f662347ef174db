// A c10d store whose every call ends, whatever becomes of the store. Internal to comm/.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// c10d's client waits for an answer without a limit, so that a host that is frozen or cut off holds
// its callers for ever. Here a thread makes the calls, one after the other, and callers wait for it
// with a limit; the thread of a call that never returns is left to the end of the process.
class TimedStore : public c10d::Store {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // `connect` runs on that thread; its errors are thrown here. `name` is for messages. Every call
  // throws RuntimeFault after `limit`; those that wait for keys a little after their own timeout,
  // whose error they throw.
  TimedStore(std::string name, Milliseconds limit, std::function<StorePtr()> connect);
  ~TimedStore() override;
  TimedStore(const TimedStore&) = delete;
  TimedStore& operator=(const TimedStore&) = delete;

  // Calls under way and all later ones throw RuntimeFault with this reason.
  void end(const std::string& reason);

  // Several calls as one, with a limit of their own. `calls` may outlive the caller.
  template <class Calls>
  auto run(Milliseconds limit, Calls calls) {
    using Result = std::invoke_result_t<Calls, c10d::Store&>;
    const auto result = std::make_shared<std::optional<Result>>();
    wait_for(limit, [calls, result](c10d::Store& store) { *result = calls(store); });
    return std::move(**result);
  }

  StorePtr clone() override;
  using c10d::Store::compareSet;
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> compareSet(const std::string& key,
                                       const std::vector<std::uint8_t>& expected,
                                       const std::vector<std::uint8_t>& desired) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const Milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::vector<std::uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<std::uint8_t>>& values) override;
  bool hasExtendedApi() const override { return has_extended_api_; }

 private:
  using Calls = std::function<void(c10d::Store&)>;
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared,
                    const std::function<StorePtr()>& connect);

  void wait_for(Milliseconds limit, Calls calls);
  void close();

  const std::string name_;
  const Milliseconds limit_;
  bool has_extended_api_ = false;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  std::thread thread_;
};
using TimedStorePtr = c10::intrusive_ptr<TimedStore>;

}  // namespace weft
