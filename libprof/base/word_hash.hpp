// A hash of successive words. Not resistant to deliberate collisions.
#pragma once

#include <cstdint>

namespace gpuprof {

// Each bit of the result depends on each bit of both: the halves of a 128-bit product.
constexpr std::uint64_t word_hash(std::uint64_t hash, std::uint64_t word) {
  const auto product =
      static_cast<unsigned __int128>(hash ^ word ^ 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

}  // namespace gpuprof
