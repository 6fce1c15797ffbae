// What the stand-in's SASS metrics have to know of launches. Any thread.
//
// Each launch of a kernel executes the same five instructions with each of its warps;
// sass_metrics.cpp has what they count.
#pragma once

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace [[gnu::visibility("hidden")]] fake {

// The driver's hooks (hooks.hpp).
void count_instructions(const Work& work);
void sass_context_created(void* context, std::uint32_t id, std::uint32_t device);
void sass_context_destroyed(void* context);
void sass_module_unloaded(void* context);

}  // namespace gnu::visibility("hidden")]]fake
