// Random numbers that are a function of what they are for, the same with every standard library.
#pragma once

#include <cstdint>

namespace weft {

// The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, OOPSLA 2014): a bijection of 64 bits.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Bits for item `index` of the stream that `seed` and `stream` name.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mix_bits(mix_bits(mix_bits(seed) ^ stream) ^ index);
}

// In [0, 1), 53 bits.
constexpr double random_unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// A permutation of [0, size) chosen by `key`: a Feistel network over the next even number of bits,
// walked until the result is in range (Black, Rogaway: Ciphers with arbitrary finite domains,
// CT-RSA 2002). Needs no memory.
constexpr std::uint64_t permute(std::uint64_t key, std::uint64_t size, std::uint64_t index) {
  int half_bits = 1;
  while (half_bits < 32 && (size - 1) >> (2 * half_bits) != 0) ++half_bits;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  do {
    std::uint64_t left = index >> half_bits;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (random_bits(key, round, right) & mask);
      left = right;
      right = next;
    }
    index = left << half_bits | right;
  } while (index >= size);
  return index;
}

}  // namespace weft
