// What people call the chips that CUPTI calls GH100.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof::metrics {

// "GH100" of "h100", "H200", "sm_90" or "gh100"; a name that is none of these in capitals. Throws
// gpuprof::Error for a compute capability that several chips have.
std::string chip_named(std::string_view name);

}  // namespace gpuprof::metrics
