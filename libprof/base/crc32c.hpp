// CRC-32C (Castagnoli), as iSCSI, ext4 and leveldb use it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof {

// The checksum of `bytes`; with the checksum of preceding bytes as `before`, that of both together.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace gpuprof
