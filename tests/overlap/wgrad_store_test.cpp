#include "overlap/wgrad_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "overlap/hand_over.h"

namespace weft {
namespace {

Segment experts_of(int micro_batch) {
  return {SegmentKind::Experts, Stage(1), 3, MicroBatch(micro_batch)};
}

TEST(WgradStore, RunsOneSegmentsTermsInOrderAndForgetsThem) {
  WgradStore store;
  std::vector<int> ran;
  store.push(experts_of(1), [&] { ran.push_back(10); });
  store.push(experts_of(0), [&] { ran.push_back(1); });
  store.push(experts_of(0), [&] { ran.push_back(2); });
  EXPECT_EQ(store.num_pending_segments(), 2U);
  store.run(experts_of(0));
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
  EXPECT_EQ(store.first_pending(), experts_of(1));
  store.run(experts_of(1));
  EXPECT_TRUE(store.empty());
  EXPECT_THROW(store.run(experts_of(1)), InternalError);
}

TEST(WgradStore, FreesWhatATermKeptBeforeTheNextOneRuns) {
  WgradStore store;
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = kept;
  bool freed = false;
  store.push(experts_of(0), [kept = std::move(kept)] {});
  store.push(experts_of(0), [&] { freed = watch.expired(); });
  store.run(experts_of(0));
  EXPECT_TRUE(freed);
}

TEST(HandOver, GivesWhatWasPutOnceAndNamesWhatIsNotThere) {
  HandOver hand_over;
  const at::Tensor tensor = at::ones({2});
  hand_over.put(3, MicroBatch(5), Direction::Backward, tensor);
  EXPECT_THROW(hand_over.put(3, MicroBatch(5), Direction::Backward, tensor), InternalError);
  EXPECT_TRUE(hand_over.peek(3, MicroBatch(5), Direction::Backward).is_same(tensor));
  EXPECT_TRUE(hand_over.take(3, MicroBatch(5), Direction::Backward).is_same(tensor));
  EXPECT_TRUE(hand_over.empty());
  try {
    hand_over.take(3, MicroBatch(5), Direction::Backward);
    FAIL() << "took what is not there";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "hand-over on edge 3 of micro-batch 5, backward: not there");
  }
}

}  // namespace
}  // namespace weft
