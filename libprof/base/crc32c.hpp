// CRC-32C (Castagnoli), as iSCSI, ext4 and leveldb use it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof {

// Of some bytes; or, with the sum of those in front, of both.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gpuprof
