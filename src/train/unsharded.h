// Tensors of the unsharded model: who holds them, and one file with all of them.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "model/parameters.h"

namespace weft {

struct SliceOwner {
  using Shape = std::vector<std::int64_t>;

  int rank = 0;  // the lowest member of the group that holds the tensor
  Shape shape;
};

// By name, bytewise; alike on every member. Throws InternalError if holders differ in shape.
std::map<std::string, SliceOwner> slice_owners(const ParameterStore& store, Group& world);

// Runs `action` and tells every member of `world` how it went: throws on all of them, RuntimeFault
// naming the first rank that failed and its reason. Collective.
template <class Action>
void run_together(Group& world, Action action);
void agree(Group& world, const std::string& failure);

// Every tensor once, by its name, in one safetensors file written by rank 0 of `world`. `which` is
// &NamedSlice::main or &NamedSlice::grad. Rank 0 holds all of them for a moment. Throws
// RuntimeFault on every rank if the file cannot be written; then there is no file.
void save_unsharded(const std::string& path, const ParameterStore& store,
                    at::Tensor NamedSlice::* which, Group& world);

template <class Action>
void run_together(Group& world, Action action) {
  std::string failure;
  try {
    action();
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "unknown failure";
  }
  agree(world, failure);
}

}  // namespace weft
