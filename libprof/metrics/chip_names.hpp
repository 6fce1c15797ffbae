// Common names for the chips that CUPTI calls GH100 and so on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::metrics {

// "GH100" for "h100", "H200", "sm_90" or "gh100"; any other name is returned in capitals. Throws
// gpuprof::Error for a compute capability that several chips have.
std::string chip_named(std::string_view name);

// Chips, products and compute capabilities known to chip_named(): "GH100", "H200", "sm_90".
std::vector<std::string> chip_names();

}  // namespace gpuprof::metrics
