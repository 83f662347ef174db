#include "comm/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Settings = std::vector<SharedSetting>;

const Settings kFirst = {{"--seed", "1", "", true},
                         {"--hidden-size", "16", "", true},
                         {"--ffn-hidden-size", "64", "", false},
                         {"--costs", "a.toml", "d1", true},
                         {"--save", "", "", false}};

std::vector<std::string> lines(const Settings& mine) {
  std::vector<std::string> result;
  for (const Violation& v : differences(kFirst, mine, 3)) {
    result.push_back(v.found + ": " + v.message);
  }
  return result;
}

Settings with(std::size_t at, const SharedSetting& setting) {
  Settings mine = kFirst;
  mine.at(at) = setting;
  return mine;
}

TEST(Differences, NoneBetweenEquals) { EXPECT_THAT(lines(kFirst), IsEmpty()); }

TEST(Differences, NameFlagValuesAndRanks) {
  EXPECT_THAT(
      lines(with(0, {"--seed", "2", "", true})),
      ElementsAre(
          "--seed 2 on rank 3: rank 0 has --seed 1: it has to be the same on all ranks"));
  EXPECT_THAT(lines(with(4, {"--save", "ck", "", true})),
              ElementsAre(HasSubstr("--save ck on rank 3: rank 0 has no --save")));
}

TEST(Differences, FilesCountByWhatIsInThem) {
  EXPECT_THAT(lines(with(3, {"--costs", "elsewhere/a.toml", "d1", true})), IsEmpty());
  EXPECT_THAT(lines(with(3, {"--costs", "a.toml", "d2", true})),
              ElementsAre(HasSubstr("--costs a.toml on rank 3: is something else on rank 0")));
}

// A size that follows from one that the user gave is not worth a line, unless it is all there is.
TEST(Differences, AreThoseThatTheUserGave) {
  Settings mine = with(1, {"--hidden-size", "32", "", true});
  mine[2].value = "128";
  EXPECT_THAT(lines(mine), ElementsAre(HasSubstr("--hidden-size 32 on rank 3")));
  EXPECT_THAT(lines(with(2, {"--ffn-hidden-size", "128", "", false})),
              ElementsAre(HasSubstr("--ffn-hidden-size 128 on rank 3")));
}

// Ranks as threads over one store: what each of them ends with.
std::vector<std::string> endings(const std::vector<Settings>& settings, int world_size) {
  const auto inner = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> result(settings.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < settings.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Rendezvous place;
      place.rank = static_cast<int>(rank);
      place.world_size = world_size;
      place.hosts_store = rank == 0;
      const auto connect = [inner] { return inner; };
      constexpr milliseconds kDeadline{1500};
      const auto store = c10::make_intrusive<TimedStore>("the store", kDeadline, connect);
      const auto watched = c10::make_intrusive<TimedStore>("the store", kDeadline, connect);
      try {
        claim_rank(place, *store);
        FaultBoard board(place, store, watched, kDeadline);
        meet(place, *store, board, kDeadline, settings[rank]);
        result[rank] = "met";
      } catch (const UserError& error) {
        result[rank] = error.violations().at(0).found;
      } catch (const RuntimeFault& error) {
        result[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

TEST(Meeting, OfRanksThatAgree) {
  EXPECT_THAT(endings({kFirst, kFirst, kFirst}, 3), ElementsAre("met", "met", "met"));
}

TEST(Meeting, ADifferenceIsTheErrorOfAll) {
  const char* error = "--seed 2 on rank 1";
  EXPECT_THAT(endings({kFirst, with(0, {"--seed", "2", "", true}), kFirst}, 3),
              ElementsAre(error, error, error));
}

TEST(Meeting, WhoDoesNotComeIsNamed) {
  const char* error = "rank 0: ranks 2, 3 did not come within 1.5 s of WORLD_SIZE 4";
  EXPECT_THAT(endings({kFirst, kFirst}, 4), ElementsAre(error, error));
}

}  // namespace
}  // namespace weft
