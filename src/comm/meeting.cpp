#include "comm/meeting.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "comm/fault_text.h"
#include "comm/rank_report.h"
#include "comm/records.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kCameKey = "came/";         // and the rank
constexpr const char* kSettingsKey = "settings";  // of rank 0
constexpr const char* kNumAgreedKey = "agreed";   // ranks like rank 0
constexpr const char* kRefusalKey = "refusal";    // the first rank's that is not
constexpr const char* kVerdictKey = "verdict";    // of rank 0, on all
constexpr const char* kNumReadKey = "read";       // ranks that have the verdict
constexpr const char* kAgreed = "agreed";         // a verdict; any other is a report
constexpr milliseconds kPoll{20};
// Rank 0 meets the deadline first: it knows who is missing.
constexpr milliseconds kAfterRankZero{3000};

std::string encode(const std::vector<SharedSetting>& settings) {
  std::vector<Record> records;
  for (const SharedSetting& s : settings) {
    records.push_back({s.name, s.value, s.digest, s.is_given ? "given" : ""});
  }
  return encode_records(records);
}

std::vector<SharedSetting> decode(std::string text) {
  if (!text.empty() && text.back() == kRecordsEnd) text.pop_back();
  std::vector<SharedSetting> settings;
  for (const Record& r : decode_records(text, 4)) {
    settings.push_back({r[0], r[1], r[2], !r[3].empty()});
  }
  return settings;
}

bool is_same(const SharedSetting& a, const SharedSetting& b) {
  const bool by_digest = !a.digest.empty() && !b.digest.empty();
  return by_digest ? a.digest == b.digest : a.value == b.value;
}

std::string text_of(const SharedSetting& setting) {
  return setting.value.empty() ? "no " + setting.name : setting.name + " " + setting.value;
}

Violation difference(const SharedSetting& first, const SharedSetting& mine, int rank) {
  const std::string found = text_of(mine) + " on rank " + std::to_string(rank);
  if (first.value == mine.value) {
    return {"ranks-agree", found,
            "is something else on rank 0: it has to be the same on all ranks"};
  }
  return {"ranks-agree", found,
          "rank 0 has " + text_of(first) + ": it has to be the same on all ranks"};
}

std::string missing_ranks(const Rendezvous& place, TimedStore& store) {
  std::vector<Rank> missing;
  for (int rank = 0; rank < place.world_size; ++rank) {
    if (store.add(kCameKey + std::to_string(rank), 0) == 0) missing.emplace_back(rank);
  }
  return missing.empty() ? "the other ranks" : ranks_text(missing);
}

// Rank 0's part: waits for all others, or the first that differs.
std::string verdict_of_all(const Rendezvous& place, TimedStore& store, FaultBoard& board,
                           milliseconds deadline) {
  const auto limit = steady_clock::now() + deadline;
  while (true) {
    if (store.check({kRefusalKey})) return store.get_to_str(kRefusalKey);
    if (store.add(kNumAgreedKey, 0) == place.world_size - 1) return kAgreed;
    if (steady_clock::now() > limit) {
      board.fail("rank 0: " + missing_ranks(place, store) + " did not come within " +
                 seconds_text(deadline) + " of WORLD_SIZE " + std::to_string(place.world_size));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

// Any other rank's part.
std::string verdict_of_rank_zero(const Rendezvous& place, TimedStore& store, FaultBoard& board,
                                 milliseconds deadline,
                                 const std::vector<SharedSetting>& settings) {
  try {
    const std::vector<SharedSetting> first = decode(store.get_to_str(kSettingsKey));
    const std::vector<Violation> found = differences(first, settings, place.rank);
    if (found.empty()) {
      store.add(kNumAgreedKey, 1);
    } else {
      store.compareSet(kRefusalKey, "", weft::encode(UserReport(found)));
    }
    store.wait({kVerdictKey}, deadline + kAfterRankZero);
    return store.get_to_str(kVerdictKey);
  } catch (const RuntimeFault&) {
    throw;
  } catch (const std::exception&) {  // a key that was waited for in vain, or no store any more
    board.fail("rank " + std::to_string(place.rank) + ": rank 0 did not come within " +
               seconds_text(deadline) + ", or has ended");
  }
}

// The host of the store stays until those that are here have read the verdict.
void let_others_read(const Rendezvous& place, TimedStore& store) {
  std::int64_t num_here = 0;
  for (int rank = 0; rank < place.world_size; ++rank) {
    num_here += store.add(kCameKey + std::to_string(rank), 0) > 0 ? 1 : 0;
  }
  const auto limit = steady_clock::now() + kAfterRankZero;
  while (store.add(kNumReadKey, 0) < num_here && steady_clock::now() < limit) {
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

std::vector<Violation> differences(const std::vector<SharedSetting>& first,
                                   const std::vector<SharedSetting>& mine, int rank) {
  std::map<std::string, SharedSetting> of_first;
  for (const SharedSetting& setting : first) of_first[setting.name] = setting;
  std::vector<Violation> given, all;
  for (const SharedSetting& setting : mine) {
    const SharedSetting& other = of_first[setting.name];
    const SharedSetting named = {setting.name, other.value, other.digest, other.is_given};
    if (is_same(named, setting)) continue;
    all.push_back(difference(named, setting, rank));
    if (named.is_given || setting.is_given) given.push_back(all.back());
  }
  return given.empty() ? all : given;
}

void claim_rank(const Rendezvous& place, TimedStore& store) {
  if (store.add(kCameKey + std::to_string(place.rank), 1) == 1) return;
  throw UserError(Violation{
      "rendezvous", "rank " + std::to_string(place.rank),
      "another process has come to " + place.master_address + ":" +
          std::to_string(place.master_port) +
          " as this rank; give each process its own RANK, and each run its own MASTER_PORT"});
}

void meet(const Rendezvous& place, TimedStore& store, FaultBoard& board, milliseconds deadline,
          const std::vector<SharedSetting>& settings) {
  if (place.world_size == 1) return;
  std::string verdict;
  if (place.rank == 0) {
    store.set(kSettingsKey, encode(settings));
    verdict = verdict_of_all(place, store, board, deadline);
    store.set(kVerdictKey, verdict);
  } else {
    verdict = verdict_of_rank_zero(place, store, board, deadline, settings);
  }
  if (verdict == kAgreed) return;
  store.add(kNumReadKey, 1);
  if (place.hosts_store) let_others_read(place, store);
  const std::optional<RankReport> report = take_report(verdict);
  weft_assert(report && std::holds_alternative<UserReport>(*report), "a refusal is a user's error");
  throw UserError(std::get<UserReport>(*report));
}

}  // namespace weft
