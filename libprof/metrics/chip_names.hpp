// What people call the chips that CUPTI calls GH100.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::metrics {

// "GH100" of "h100", "H200", "sm_90" or "gh100"; a name that is none of these in capitals. Throws
// gpuprof::Error for a compute capability that several chips have.
std::string chip_named(std::string_view name);

// Chips, products and compute capabilities that chip_named() knows: "GH100", "H200", "sm_90".
std::vector<std::string> chip_names();

}  // namespace gpuprof::metrics
