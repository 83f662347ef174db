#include "comm/exchange_suite.h"

#include <ATen/ATen.h>

#include <random>
#include <stdexcept>
#include <string>

#include "comm/ordered_sum.h"

namespace weft {
namespace {

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("wrong: " + what);
}

std::vector<Rank> everyone(const Communicator& communicator) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < communicator.world_size(); ++rank) ranks.emplace_back(rank);
  return ranks;
}

// Row r of what `from` sends to `to`: 100 * from + 10 * to + r in every column; small enough for
// BF16 to hold exactly.
at::Tensor block(int from, int to, std::int64_t rows, std::int64_t columns, at::ScalarType type) {
  const at::Tensor column = at::arange(rows, at::kLong) + (100 * from + 10 * to);
  return column.unsqueeze(1).expand({rows, columns}).to(type).contiguous();
}

void check_all_to_all(Group& group, std::mt19937_64& random, at::ScalarType type) {
  const int size = group.size();
  const std::int64_t columns = 1 + random() % 5;
  const int silent = static_cast<int>(random() % (size + 1));  // sends nothing; size: nobody
  std::vector<std::vector<std::int64_t>> rows(size, std::vector<std::int64_t>(size));
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const std::int64_t drawn = random() % 4;
      rows[from][to] = from == silent ? 0 : drawn;
    }
  }
  const int self = group.rank();
  std::vector<at::Tensor> sent, expected;
  std::vector<std::int64_t> input_splits, output_splits;
  for (int peer = 0; peer < size; ++peer) {
    sent.push_back(block(self, peer, rows[self][peer], columns, type));
    expected.push_back(block(peer, self, rows[peer][self], columns, type));
    input_splits.push_back(rows[self][peer]);
    output_splits.push_back(rows[peer][self]);
  }
  const at::Tensor result = at::cat(expected);
  const at::Tensor output = at::full_like(result, -1);
  const TimePoint before = std::chrono::steady_clock::now();
  const WorkPtr work = group.all_to_all(output, at::cat(sent), output_splits, input_splits);
  work->wait();
  expect(at::equal(output, result), "all-to-all");
  expect(work->completed() >= before, "an exchange completes after its start");
  expect(work->completed() <= std::chrono::steady_clock::now(), "completed() is in the past");
}

void check_all_gather(Group& group, std::mt19937_64& random) {
  const std::int64_t rows = random() % 4;
  const at::Tensor output = at::full({group.size(), rows, 3}, -1, at::kFloat);
  group.all_gather(output, block(group.rank(), 0, rows, 3, at::kFloat))->wait();
  for (int member = 0; member < group.size(); ++member) {
    expect(at::equal(output[member], block(member, 0, rows, 3, at::kFloat)), "all-gather");
  }
}

// Everyone sends two messages to everyone, receives posted first, sends waited for last.
void check_messages(Group& group, std::mt19937_64& random) {
  const int size = group.size();
  const int self = group.rank();
  std::vector<std::int64_t> rows;
  for (int message = 0; message < 2; ++message) rows.push_back(1 + random() % 4);
  std::vector<at::Tensor> received;
  std::vector<WorkPtr> receiving, sending;
  for (int message = 0; message < 2; ++message) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == self) continue;
      received.push_back(at::full({rows[message], 3}, -1, at::kFloat));
      receiving.push_back(group.recv(received.back(), peer, message));
    }
  }
  for (int message = 0; message < 2; ++message) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == self) continue;
      sending.push_back(
          group.send(block(self, peer, rows[message], 3, at::kFloat) + message, peer, message));
    }
  }
  for (const WorkPtr& work : receiving) work->wait();
  for (const WorkPtr& work : sending) work->wait();
  std::size_t index = 0;
  for (int message = 0; message < 2; ++message) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == self) continue;
      const at::Tensor sent = block(peer, self, rows[message], 3, at::kFloat) + message;
      expect(at::equal(received[index++], sent), "a message");
    }
  }
}

}  // namespace

void check_exchanges(Communicator& communicator, std::uint64_t seed) {
  std::mt19937_64 random(seed);  // draws the same on every rank
  const GroupPtr world = communicator.new_group("suite", everyone(communicator));
  // Even ranks alone: the others are no members.
  std::vector<Rank> even;
  for (int rank = 0; rank < communicator.world_size(); rank += 2) even.emplace_back(rank);
  const GroupPtr evens = communicator.new_group("evens", even);
  expect((evens != nullptr) == (communicator.rank().value % 2 == 0), "members of a group");
  const GroupPtr alone = communicator.new_group("alone", {Rank(0)});

  for (const GroupPtr& group : {world, evens, alone}) {
    std::mt19937_64 own = random;
    if (!group) continue;
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble, at::kLong}) {
      check_all_to_all(*group, own, type);
    }
    check_all_gather(*group, own);
    check_messages(*group, own);
    group->barrier()->wait();
  }
}

void check_rank_ordered_sum(Communicator& communicator, std::uint64_t seed) {
  const GroupPtr world = communicator.new_group("sum", everyone(communicator));
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const std::int64_t numel : {1, 2, 7, 64, 1001}) {
      // Summands of different magnitude: any other order gives other bits.
      std::vector<at::Tensor> terms;
      for (int rank = 0; rank < world->size(); ++rank) {
        auto generator = at::make_generator<at::CPUGeneratorImpl>(seed + 100 * rank + numel);
        terms.push_back(at::randn({numel}, generator, at::TensorOptions(type)) *
                        (rank % 2 == 0 ? 1e3 : 1e-3));
      }
      at::Tensor expected = terms[0].clone();
      for (int rank = 1; rank < world->size(); ++rank) expected = expected + terms[rank];

      const at::Tensor whole = terms[world->rank()].clone();
      sum_in_rank_order({{world, {whole}}});
      expect(at::equal(whole, expected), "rank-ordered sum");
      // The same elements cut in two: each element keeps its bits.
      const std::int64_t cut = numel / 3;
      at::Tensor front = terms[world->rank()].narrow(0, 0, cut).clone();
      at::Tensor back = terms[world->rank()].narrow(0, cut, numel - cut).clone();
      sum_in_rank_order({{world, {front}}, {world, {back}}});
      expect(at::equal(at::cat({front, back}), expected),
             "rank-ordered sum of a tensor cut in two");
    }
  }
}

}  // namespace weft
