#include "train/gather.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "train/files.h"

namespace weft {
namespace {

at::Tensor bytes_tensor(std::int64_t size) { return at::zeros({size}, at::kByte); }

template <class T>
T take(const std::string& bytes, std::size_t& at) {
  T value;
  weft_assert(at + sizeof value <= bytes.size(), "gathered values end early");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string encode(const std::vector<NamedBits>& values) {
  std::string bytes;
  for (const NamedBits& value : values) {
    append(bytes, static_cast<std::uint64_t>(value.name.size()));
    bytes += value.name;
    append(bytes, value.bits);
  }
  return bytes;
}

std::vector<NamedBits> decode(const std::string& bytes) {
  std::vector<NamedBits> values;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = take<std::uint64_t>(bytes, at);
    weft_assert(size <= bytes.size() - at, "gathered name ends early");
    NamedBits value;
    value.name = bytes.substr(at, size);
    at += size;
    value.bits = take<std::uint64_t>(bytes, at);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

std::vector<std::string> gather_bytes(Group& group, const std::string& mine) {
  const std::int64_t num = group.size();
  at::Tensor size = at::full({1}, static_cast<std::int64_t>(mine.size()), at::kLong);
  at::Tensor sizes = at::zeros({num, 1}, at::kLong);
  group.all_gather(sizes, size)->wait();
  const auto* lengths = sizes.const_data_ptr<std::int64_t>();
  const std::int64_t longest = *std::max_element(lengths, lengths + num);
  std::vector<std::string> all(static_cast<std::size_t>(num));
  if (longest == 0) return all;
  at::Tensor input = bytes_tensor(longest);
  std::memcpy(input.mutable_data_ptr(), mine.data(), mine.size());
  at::Tensor output = bytes_tensor(num * longest).view({num, longest});
  group.all_gather(output, input)->wait();
  const char* data = static_cast<const char*>(output.const_data_ptr());
  for (std::int64_t r = 0; r < num; ++r) {
    all[static_cast<std::size_t>(r)].assign(data + r * longest,
                                            static_cast<std::size_t>(lengths[r]));
  }
  return all;
}

std::vector<std::vector<NamedBits>> gather_named(Group& group, const std::vector<NamedBits>& mine) {
  std::vector<std::vector<NamedBits>> values;
  for (const std::string& bytes : gather_bytes(group, encode(mine)))
    values.push_back(decode(bytes));
  return values;
}

std::map<std::string, std::uint64_t> merge_replicas(
    const std::vector<std::vector<NamedBits>>& gathered, const std::string& what) {
  std::map<std::string, std::uint64_t> merged;
  std::map<std::string, std::size_t> first_holder;
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    for (const NamedBits& value : gathered[rank]) {
      const auto [place, added] = merged.emplace(value.name, value.bits);
      if (added) first_holder[value.name] = rank;
      if (place->second == value.bits) continue;
      throw RuntimeFault(what + " of " + value.name + " differs between replicas: rank " +
                         std::to_string(first_holder[value.name]) + " has " +
                         to_hex(place->second) + ", rank " + std::to_string(rank) + " has " +
                         to_hex(value.bits));
    }
  }
  return merged;
}

}  // namespace weft
