#include "comm/timed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "base/error.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// Answers until it is frozen, then never.
class Freezable : public c10d::HashStore {
 public:
  std::int64_t add(const std::string& key, std::int64_t value) override {
    while (is_frozen) std::this_thread::sleep_for(milliseconds(5));
    return c10d::HashStore::add(key, value);
  }

  std::atomic<bool> is_frozen = false;
};

struct Frozen {
  c10::intrusive_ptr<Freezable> inner = c10::make_intrusive<Freezable>();
  TimedStorePtr store = c10::make_intrusive<TimedStore>("the store", milliseconds(100),
                                                        [inner = inner] { return inner; });
  ~Frozen() { inner->is_frozen = false; }
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RuntimeFault& error) {
    return error.what();
  }
  return "none";
}

TEST(TimedStore, PassesOnWhatTheStoreSays) {
  const Frozen frozen;
  TimedStore& store = *frozen.store;
  store.set("a", std::string("1"));
  EXPECT_EQ(store.get_to_str("a"), "1");
  EXPECT_EQ(store.compareSet("a", std::string("1"), std::string("2")), "2");
  EXPECT_EQ(store.add("n", 3), 3);
  EXPECT_TRUE(store.check({"a", "n"}));
  EXPECT_FALSE(store.check({"b"}));
  EXPECT_TRUE(store.deleteKey("n"));
  EXPECT_EQ(store.run(seconds(1), [](c10d::Store& s) { return s.add("n", 2) + s.add("n", 2); }), 6);
  EXPECT_THROW(store.wait({"never"}, milliseconds(20)), std::exception);
}

TEST(TimedStore, ACallOfAFrozenStoreEnds) {
  const Frozen frozen;
  frozen.inner->is_frozen = true;
  EXPECT_THAT(error_of([&] { frozen.store->add("n", 1); }),
              HasSubstr("the store has not answered for 0.1 s"));
  // One that waits behind it too; and the store is there again when it thaws.
  EXPECT_THAT(error_of([&] { frozen.store->check({"n"}); }), HasSubstr("has not answered"));
  frozen.inner->is_frozen = false;
  EXPECT_EQ(frozen.store->run(seconds(10), [](c10d::Store& s) { return s.add("n", 1); }), 2);
}

TEST(TimedStore, IsEndedFromElsewhere) {
  const Frozen frozen;
  frozen.inner->is_frozen = true;
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(30));
    frozen.store->end("rank 3 has failed");
  });
  const auto start = steady_clock::now();
  EXPECT_EQ(error_of([&] {
              frozen.store->run(seconds(60), [](c10d::Store& s) { return s.add("n", 1); });
            }),
            "rank 3 has failed");
  EXPECT_LT(steady_clock::now() - start, seconds(30));
  EXPECT_EQ(error_of([&] { frozen.store->check({"n"}); }), "rank 3 has failed");
  other.join();
}

TEST(TimedStore, DoesNotWaitForAFrozenStoreToBeDestroyed) {
  Frozen frozen;
  frozen.inner->is_frozen = true;
  EXPECT_NE(error_of([&] { frozen.store->add("n", 1); }), "none");
  const auto start = steady_clock::now();
  frozen.store.reset();
  EXPECT_LT(steady_clock::now() - start, seconds(30));
}

TEST(TimedStore, AConnectionThatFailsIsTheConstructorsError) {
  EXPECT_EQ(error_of([] {
              c10::make_intrusive<TimedStore>("the store", milliseconds(100), []() -> StorePtr {
                throw RuntimeFault("no store at node1:4711");
              });
            }),
            "no store at node1:4711");
}

}  // namespace
}  // namespace weft
