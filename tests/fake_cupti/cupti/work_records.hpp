// Records of the work of a GPU: kernels, copies, memory, synchronisation.
#pragma once

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace [[gnu::visibility("hidden")]] fake {

// The driver's hooks (hooks.hpp).
void on_kernel(const Work& work);
void on_copy(const Work& work);
void on_set(const Work& work);
void on_memory(bool release, std::uint64_t address, std::uint64_t bytes, std::uint32_t correlation,
               std::uint32_t context);
void on_synchronized(std::uint32_t correlation, std::uint32_t context, std::uint64_t start,
                     std::uint64_t end);

}  // namespace gnu::visibility("hidden")]]fake
