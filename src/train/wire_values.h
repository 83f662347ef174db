// Plain values as bytes, for gather_bytes between processes of one kind of machine.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> values_of(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace weft
