// How the profiling API checks the size of its parameter structs: NVIDIA's refuses a struct that is
// shorter than the first version's and one that is longer than it knows.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "tests/fake_cupti/cupti/records.hpp"

// For a struct that never grew. Its name is needed as it stands, hence a macro.
#define EXPECT_SIZE(type) \
  if (!params || params->structSize != type##_STRUCT_SIZE) return CUPTI_ERROR_INVALID_PARAMETER

namespace fake {

// For a struct that was `first` bytes long, and `now` from version `since` on.
inline bool is_known_size(std::size_t size, std::size_t first, std::size_t now,
                          std::uint32_t since) {
  return size >= first && size <= (version() >= since ? now : first);
}

}  // namespace fake
