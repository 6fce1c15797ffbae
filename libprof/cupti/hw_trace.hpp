// Hardware tracing: from Blackwell on, the times of kernels and copies can come from the GPU's
// hardware event system (HES). Where it is chosen automatically, and what CUPTI says against it.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::cupti {

// What is known against it on a chip (CUPTI's name, as GH100), with this version of CUPTI and a
// driver for this version of CUDA (13000 for 13.0). Empty: nothing.
std::string hw_trace_objection(std::string_view chip, std::uint32_t cupti_version,
                               int driver_version);

// Whether CUPTI gives this answer where there is no hardware tracing.
bool is_hw_trace_refusal(CUptiResult result);

}  // namespace gpuprof::cupti
