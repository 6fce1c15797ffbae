// Integers of SQLite's file format: big-endian or variable-length.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace gpuprof::columns {

inline std::uint32_t big_endian_16(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0] << 8 | bytes[1]);
}

inline std::uint32_t big_endian_32(const std::uint8_t* bytes) {
  return big_endian_16(bytes) << 16 | big_endian_16(bytes + 2);
}

inline std::uint64_t big_endian_64(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

constexpr std::size_t longest_varint = 9;

// Moves `bytes` past the number. `longest_varint` bytes must be readable.
inline std::uint64_t varint(const std::uint8_t*& bytes) {
  std::uint64_t value = *bytes++;
  if (value < 0x80) return value;
  value &= 0x7f;
  for (int i = 1; i < 8; ++i) {
    const std::uint8_t byte = *bytes++;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80) return value;
  }
  return value << 8 | *bytes++;
}

}  // namespace gpuprof::columns
