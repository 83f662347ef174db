#include "train/digest.h"

#include <ATen/core/Tensor.h>

#include "train/files.h"
#include "train/gather.h"

namespace weft {
namespace {

std::uint64_t digest(const ParameterStore& store, Group& world, at::Tensor NamedSlice::* which,
                     const char* what) {
  std::vector<NamedBits> mine;
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) {
      mine.push_back({slice.name, tensor_digest(slice.*which)});
    }
  }
  Hasher hasher;
  for (const auto& [name, bits] : merge_replicas(gather_named(world, mine), what)) {
    hasher.update(name.c_str(), name.size() + 1);
    hasher.update(&bits, sizeof bits);
  }
  return hasher.digest();
}

}  // namespace

std::uint64_t tensor_digest(const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.detach().to(at::kCPU).contiguous();
  return hash_bytes(
      {static_cast<const std::byte*>(contiguous.const_data_ptr()), contiguous.nbytes()});
}

std::uint64_t gradient_digest(const ParameterStore& store, Group& world) {
  return digest(store, world, &NamedSlice::grad, "the gradient");
}

std::uint64_t parameter_digest(const ParameterStore& store, Group& world) {
  return digest(store, world, &NamedSlice::main, "the weight");
}

}  // namespace weft
