// What the stand-in's PC sampling has to know of launches and modules. Any thread.
//
// Each launch of a kernel gives the same samples: pc_samples_of_launch of them, at four addresses
// of the kernel, by the same stall reasons. Functions are distinguished by the checksum of the
// cubin that was loaded last and has a section for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace [[gnu::visibility("hidden")]] fake {

// The driver's hooks (hooks.hpp).
void sample(const Work& work);
void note_cubin(std::uint32_t module, const void* cubin, std::size_t size);
void forget_cubin(std::uint32_t module);
// Of the cubin that has the function. 0: in no module that is loaded.
std::uint64_t sum_of_function(const char* name);
void pc_context_created(void* context, std::uint32_t id, std::uint32_t device);
void pc_context_destroyed(void* context);

}  // namespace gnu::visibility("hidden")]]fake
