#include "faults/workplace.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <thread>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kDocuments = 4;
constexpr int kDocumentTokens = 1000;

template <class T>
void put(std::ofstream& file, T value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

// The two files as Megatron's indexed_dataset.py lays them out.
void write_data(const std::string& prefix) {
  std::ofstream tokens(prefix + ".bin", std::ios::binary);
  std::uint32_t state = 1;
  for (int i = 0; i < kDocuments * kDocumentTokens; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.put(static_cast<char>(state >> 25));
  }
  std::ofstream index(prefix + ".idx", std::ios::binary);
  index.write("MMIDIDX\0\0", 9);
  put<std::uint64_t>(index, 1);  // version
  put<std::uint8_t>(index, 1);   // uint8
  put<std::uint64_t>(index, kDocuments);
  put<std::uint64_t>(index, kDocuments + 1);
  for (int i = 0; i < kDocuments; ++i) put<std::int32_t>(index, kDocumentTokens);
  for (std::int64_t i = 0; i < kDocuments; ++i) put<std::int64_t>(index, i * kDocumentTokens);
  for (std::int64_t i = 0; i <= kDocuments; ++i) put<std::int64_t>(index, i);
}

}  // namespace

void PrintTo(const LoggedStep& step, std::ostream* out) {
  *out << "step " << step.step << " " << step.fingerprint;
}

std::vector<LoggedStep> read_metrics(const std::string& path) {
  std::vector<LoggedStep> steps;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    LoggedStep step;
    step.step = json.at("step");
    step.loss = json.at("loss");
    step.step_ms = json.at("step_ms");
    step.fingerprint = json.at("loss").dump() + " " + json.at("gradient_digest").dump() + " " +
                       json.at("parameter_digest").dump();
    steps.push_back(step);
  }
  return steps;
}

Workplace::Workplace()
    : random_state_(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())) {
  std::string name = testing::TempDir() + "weft_workplace_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder to be had: " + name);
  folder_ = name;
  write_data(path("data"));
  if (const char* seed = std::getenv("WEFT_TEST_SEED")) random_state_ = std::stoull(seed);
  std::cout << "WEFT_TEST_SEED=" << random_state_ << "\n";
}

Workplace::~Workplace() { fs::remove_all(folder_); }

Words Workplace::train(const Words& more) const {
  const Words tiny = {WEFT_BINARY,
                      "train",
                      "--data-path",
                      path("data"),
                      "--split",
                      "100",
                      "--num-layers=5",
                      "--hidden-size=32",
                      "--ffn-hidden-size=48",
                      "--num-attention-heads=2",
                      "--num-query-groups=1",
                      "--seq-length=16",
                      "--vocab-size=128",
                      "--num-experts=4",
                      "--moe-router-topk=2",
                      "--moe-ffn-hidden-size=24",
                      "--moe-shared-expert-intermediate-size=16",
                      "--moe-aux-loss-coeff=0.01",
                      "--first-k-dense-replace=1",
                      "--init-method-std=0.2",
                      "--micro-batch-size=1",
                      "--lr=1e-2",
                      "--lr-decay-iters=100",
                      "--seed=7",
                      "--log-digests"};
  return tiny + more;
}

std::vector<LoggedStep> Workplace::wait_for_steps(WeftProcess& run, const std::string& metrics,
                                                  std::size_t count) const {
  std::vector<LoggedStep> steps;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    steps = read_metrics(metrics);
  } while (steps.size() < count && !run.has_ended());
  return steps;
}

int Workplace::random(int below) {
  random_state_ = random_state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<int>((random_state_ >> 33) % static_cast<std::uint64_t>(below));
}

Words four_ranks(int micro_batches) {
  return {"--pipeline-model-parallel-size=2",
          "--expert-model-parallel-size=2",
          "--schedules-method=dualpipev",
          "--moe-fb-overlap",
          "--dualpipev-dw-detach",
          "--num-microbatches=" + std::to_string(micro_batches)};
}

Words by_hand(int port, const std::vector<Words>& commands) {
  std::string script;
  for (std::size_t rank = 0; rank < commands.size(); ++rank) {
    script += "(RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(commands.size()) +
              " MASTER_PORT=" + std::to_string(port);
    for (const std::string& word : commands[rank]) script += " '" + word + "'";
    script += "; echo rank " + std::to_string(rank) + ": $?) &\n";
  }
  return {"sh", "-c", script + "wait"};
}

int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool has_port = ::bind(file, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                        ::getsockname(file, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  ::close(file);
  if (!has_port) throw std::runtime_error("no port to be had");
  return ntohs(address.sin_port);
}

}  // namespace weft
