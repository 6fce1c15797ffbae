// What gpuprof-salvage gives up before it looks at any of the target's data.
#pragma once

#include <cstdint>

#include "libprof/wire/codec.hpp"

namespace gpuprof::salvage {

// Sets limits on this process and, if `config` names a user and group, switches to them.
// `arena_bytes` is the size of the arena to be mapped. false: this failed, so nothing of the
// target's may be touched.
bool enter_sandbox(const wire::Fields& config, std::uint64_t arena_bytes);

}  // namespace gpuprof::salvage
