#include "train/unsharded.h"

#include <ATen/Functions.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/gather.h"
#include "train/safetensors.h"

namespace weft {

std::map<std::string, SliceOwner> slice_owners(const ParameterStore& store, Group& world) {
  nlohmann::json mine = nlohmann::json::object();
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) mine[slice.name] = slice.main.sizes().vec();
  }
  std::map<std::string, SliceOwner> owners;
  int rank = 0;
  for (const std::string& text : gather_bytes(world, mine.dump())) {
    const auto held = nlohmann::json::parse(text).get<std::map<std::string, SliceOwner::Shape>>();
    for (const auto& [name, shape] : held) {
      const auto [place, added] = owners.emplace(name, SliceOwner{rank, shape});
      weft_assert(place->second.shape == shape, "ranks that hold a tensor agree on its shape");
    }
    ++rank;
  }
  return owners;
}

void agree(Group& world, const std::string& failure) {
  const std::vector<std::string> failures = gather_bytes(world, failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    const std::string where = world.size() == 1 ? "" : "rank " + std::to_string(rank) + ": ";
    throw RuntimeFault(where + failures[rank]);
  }
}

void save_unsharded(const std::string& path, const ParameterStore& store,
                    at::Tensor NamedSlice::* which, Group& world) {
  std::map<std::string, at::Tensor> mine;
  for (const Parameter& parameter : store.parameters) {
    for (const NamedSlice& slice : parameter.slices) mine.emplace(slice.name, slice.*which);
  }
  NamedTensors all;
  int tag = 0;
  for (const auto& [name, owner] : slice_owners(store, world)) {
    ++tag;
    if (world.rank() == 0 && owner.rank != 0) {
      at::Tensor tensor = at::empty(owner.shape, at::dtype(store.main_type));
      world.recv(tensor, owner.rank, tag)->wait();
      all.emplace_back(name, tensor);
    } else if (world.rank() == 0) {
      all.emplace_back(name, mine.at(name).detach().cpu());
    } else if (world.rank() == owner.rank) {
      world.send(mine.at(name).detach().cpu().contiguous(), 0, tag)->wait();
    }
  }
  run_together(world, [&] {
    if (world.rank() == 0) save_safetensors(path, all);
  });
}

}  // namespace weft
