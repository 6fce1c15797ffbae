// Fields of the fixed-size blobs in nvprof's tables: little-endian native structs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace gpuprof::reading {

// The field at `offset`; the blob must be long enough.
template <typename T>
T blob_field(std::span<const std::byte> blob, std::size_t offset) {
  T value;
  std::memcpy(&value, blob.data() + offset, sizeof value);
  return value;
}

// CUpti_ActivityObjectKindId: process, thread, - or device, context, stream. Nullopt if the size is
// wrong.
inline std::optional<std::array<std::uint32_t, 3>> object_id(std::span<const std::byte> blob) {
  if (blob.size() != 12) return std::nullopt;
  return std::array{blob_field<std::uint32_t>(blob, 0), blob_field<std::uint32_t>(blob, 4),
                    blob_field<std::uint32_t>(blob, 8)};
}

}  // namespace gpuprof::reading
