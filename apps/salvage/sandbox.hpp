// What gpuprof-salvage gives up before it looks at anything of the target's.
#pragma once

#include <cstdint>

#include "libprof/wire/codec.hpp"

namespace gpuprof::salvage {

// Puts limits on this process and, where `config` names a user and group, takes their rights in
// place of ours. `arena_bytes` is the size of what will be mapped. false: it cannot be done, so
// nothing of the target's may be touched.
bool enter_sandbox(const wire::Fields& config, std::uint64_t arena_bytes);

}  // namespace gpuprof::salvage
