// What the stand-in driver tells: made into callbacks and records.
#pragma once

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace [[gnu::visibility("hidden")]] fake {

extern const Hooks hooks;

// Null where no stand-in driver is loaded: in salvage.
SetHooks driver_entry();

void write_device(std::uint32_t device);
void write_context(std::uint32_t id, std::uint32_t device);
void write_stream(std::uint32_t context);

}  // namespace gnu::visibility("hidden")]]fake
