#include "comm/local.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "comm/exchange_suite.h"
#include "comm/ordered_sum.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class LocalSuite : public testing::TestWithParam<int> {};

TEST_P(LocalSuite, Exchanges) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    run_ranks(GetParam(), {}, [&](int, const CommunicatorPtr& communicator) {
      check_exchanges(*communicator, seed);
    });
  }
}

TEST_P(LocalSuite, ExchangesUnderRandomDelays) {
  for (const std::uint64_t seed : {5, 6}) {
    LocalOptions options;
    options.max_delay = std::chrono::microseconds(500);
    options.delay_seed = seed;
    run_ranks(GetParam(), options, [&](int, const CommunicatorPtr& communicator) {
      check_exchanges(*communicator, seed);
    });
  }
}

TEST_P(LocalSuite, SumsInRankOrder) {
  run_ranks(GetParam(), {}, [](int, const CommunicatorPtr& communicator) {
    check_rank_ordered_sum(*communicator, 7);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalSuite, testing::Range(1, 6));

TEST(Local, SumOfATensorThatIsNotContiguous) {
  run_ranks(2, {}, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1)});
    const at::Tensor tensor = at::arange(6, at::kDouble).view({2, 3}).clone() + rank;
    sum_in_rank_order({{world, {tensor.t()}}});
    EXPECT_TRUE(at::equal(tensor, at::arange(6, at::kDouble).view({2, 3}) * 2 + 1));
  });
}

TEST(Local, NothingIsBuffered) {
  run_ranks(2, {}, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr pair = communicator->new_group("pair", {Rank(0), Rank(1)});
    const at::Tensor tensor = at::ones({4});
    if (rank == 0) {
      const WorkPtr work = pair->send(tensor, 1, 0);
      const TimePoint sent = steady_clock::now();
      work->wait();
      EXPECT_GE(work->completed() - sent, milliseconds(40));
    } else {
      std::this_thread::sleep_for(milliseconds(50));
      pair->recv(tensor, 0, 0)->wait();
    }
  });
}

TEST(Local, ASentTensorMayBeOverwrittenOnceSent) {
  LocalOptions options;
  options.latency = milliseconds(5);
  run_ranks(2, options, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr pair = communicator->new_group("pair", {Rank(0), Rank(1)});
    at::Tensor tensor = at::full({4}, rank);
    if (rank == 0) {
      pair->send(tensor, 1, 0)->wait();
      tensor.fill_(9);
    } else {
      const WorkPtr work = pair->recv(tensor, 0, 0);
      std::this_thread::sleep_for(milliseconds(20));
      work->wait();
      EXPECT_TRUE(at::equal(tensor, at::zeros_like(tensor)));
    }
  });
}

// 4000 bytes at 1 MB/s take 4 ms, and 10 ms of latency; a second one waits for the first to leave.
TEST(Local, TheLinkTakesLatencyAndBytesOverBandwidth) {
  LocalOptions options;
  options.latency = milliseconds(10);
  options.bytes_per_second = 1e6;
  run_ranks(2, options, [](int rank, const CommunicatorPtr& communicator) {
    const GroupPtr pair = communicator->new_group("pair", {Rank(0), Rank(1)});
    const at::Tensor tensor = at::zeros({1000});
    const TimePoint before = steady_clock::now();
    pair->barrier()->wait();
    const TimePoint start = steady_clock::now();
    EXPECT_GE(start - before, milliseconds(10));
    const auto post = [&](int tag) {
      return rank == 0 ? pair->send(tensor, 1, tag) : pair->recv(tensor, 0, tag);
    };
    const WorkPtr first = post(0);
    const WorkPtr second = post(1);
    second->wait();
    first->wait();
    EXPECT_GE(first->completed() - start, milliseconds(13));
    EXPECT_EQ(second->completed() - first->completed(), milliseconds(4));
    // Each member keeps 250 elements and exchanges 750 with the other: 3 ms.
    const at::Tensor output = at::zeros({1000});
    const std::vector<std::int64_t> splits =
        rank == 0 ? std::vector<std::int64_t>{250, 750} : std::vector<std::int64_t>{750, 250};
    const TimePoint begin = steady_clock::now();
    const WorkPtr exchange = pair->all_to_all(output, tensor, splits, splits);
    exchange->wait();
    EXPECT_GE(exchange->completed() - begin, milliseconds(13));
  });
}

TEST(Local, ADeadlineNamesWhoWaitsForWhatOnWhichGroup) {
  LocalOptions options;
  options.deadline = milliseconds(100);
  const auto waiting = [&](bool collective) {
    run_ranks(3, options, [&](int rank, const CommunicatorPtr& communicator) {
      const GroupPtr group = communicator->new_group("tokens", {Rank(0), Rank(1), Rank(2)});
      const at::Tensor tensor = at::zeros({3});
      if (collective && rank != 1)
        group->all_to_all(at::zeros({3}), tensor, {1, 1, 1}, {1, 1, 1})->wait();
      if (!collective && rank == 2) group->recv(tensor, 0, 7)->wait();
    });
  };
  EXPECT_THAT(message_of([&] { waiting(true); }),
              AllOf(HasSubstr("all-to-all on group 'tokens'"), HasSubstr("after 0.1 s"),
                    HasSubstr("not started by rank 1")));
  EXPECT_THAT(message_of([&] { waiting(false); }),
              AllOf(HasSubstr("rank 2: recv from rank 0 (tag 7) on group 'tokens'"),
                    HasSubstr("after 0.1 s")));
}

TEST(Local, TheFirstErrorReachesEveryWaiter) {
  const TimePoint start = steady_clock::now();
  std::atomic<int> ended = 0;
  const auto run = [&] {
    run_ranks(4, {}, [&](int rank, const CommunicatorPtr& communicator) {
      const GroupPtr world = communicator->new_group("world", {Rank(0), Rank(1), Rank(2), Rank(3)});
      if (rank == 2) {
        std::this_thread::sleep_for(milliseconds(20));
        throw UserError({"rule", "--flag 1", "is wrong"});
      }
      try {
        world->barrier()->wait();
      } catch (const RuntimeFault& error) {
        EXPECT_THAT(error.what(), HasSubstr("--flag 1"));
        ++ended;
        throw;
      }
    });
  };
  EXPECT_THROW(run(), UserError);
  EXPECT_EQ(ended, 3);
  EXPECT_LT(steady_clock::now() - start, milliseconds(5000));
}

TEST(Local, StartingAfterAnAbortThrows) {
  LocalWorld world(1);
  const CommunicatorPtr communicator = world.rank(0);
  const GroupPtr group = communicator->new_group("world", {Rank(0)});
  communicator->abort("disk full");
  communicator->abort("later");
  EXPECT_EQ(message_of([&] { group->barrier(); }), "disk full");
}

TEST(Local, MisusesAreRefused) {
  const auto on_two = [](const std::function<void(int, Group&)>& body) {
    return message_of([&] {
      run_ranks(2, {}, [&](int rank, const CommunicatorPtr& communicator) {
        body(rank, *communicator->new_group("g", {Rank(0), Rank(1)}));
      });
    });
  };
  const at::Tensor two = at::zeros({2}), three = at::zeros({3});
  EXPECT_THAT(on_two([&](int rank, Group& group) {
                (rank == 0 ? group.send(two, 1, 0) : group.recv(three, 0, 0))->wait();
              }),
              HasSubstr("expects 12 bytes from rank 0, which sends 8"));
  EXPECT_THAT(on_two([&](int rank, Group& group) {
                (rank == 0 ? group.send(two, 1, 4) : group.recv(two, 0, 5))->wait();
              }),
              HasSubstr("met tag"));
  EXPECT_THAT(on_two([&](int rank, Group& group) {
                (rank == 0 ? group.barrier() : group.all_gather(at::zeros({2, 2}), two))->wait();
              }),
              AllOf(HasSubstr("barrier"), HasSubstr("met"), HasSubstr("all-gather")));
  EXPECT_THAT(message_of([] {
                run_ranks(2, {}, [](int rank, const CommunicatorPtr& communicator) {
                  communicator->new_group(rank == 0 ? "a" : "b", {Rank(0), Rank(1)});
                });
              }),
              HasSubstr("on one rank"));
}

}  // namespace
}  // namespace weft
