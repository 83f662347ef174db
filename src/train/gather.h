// Byte strings and named values of all members of a group, on every member alike.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace weft {

// Element r is what member r gave. Two exchanges; the second moves size * longest bytes.
std::vector<std::string> gather_bytes(Group& group, const std::string& mine);

// A 64-bit value of a tensor of the unsharded model.
struct NamedBits {
  std::string name;
  std::uint64_t bits = 0;

  bool operator==(const NamedBits&) const = default;
};

std::vector<std::vector<NamedBits>> gather_named(Group& group, const std::vector<NamedBits>& mine);

// One value per name, in the bytewise order of the names. A tensor that several members hold must
// have the same value everywhere; throws RuntimeFault naming `what`, the tensor and two members.
std::map<std::string, std::uint64_t> merge_replicas(
    const std::vector<std::vector<NamedBits>>& gathered, const std::string& what);

}  // namespace weft
