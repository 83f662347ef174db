// Two ranks as threads exchange one number each through LibTorch's Gloo: exit code 0 if it works.
#include <ATen/ATen.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

int main() {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  at::Tensor results[2];
  const auto run = [&](int rank) {
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    c10d::ProcessGroupGloo group(store, rank, 2, options);
    at::Tensor input = at::full({2}, rank, at::kFloat);
    at::Tensor output = at::empty({2}, at::kFloat);
    std::vector<int64_t> splits = {1, 1};
    group.alltoall_base(output, input, splits, splits)->wait();
    results[rank] = output;
  };
  std::thread peer(run, 1);
  run(0);
  peer.join();
  const at::Tensor expected = at::arange(2, at::kFloat);
  return at::equal(results[0], expected) && at::equal(results[1], expected) ? 0 : 1;
}
