// The CUDA functions that nvprof 11.8 knows, by cbid.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuprof::schema {

#include "schema/nvprof_api_names.inc"

// A name's index is its cbid; 0 is "INVALID". A name may be empty.
inline std::span<const std::string_view> nvprof_api_names(bool runtime) {
  return runtime ? std::span<const std::string_view>(runtime_api_names)
                 : std::span<const std::string_view>(driver_api_names);
}

// "cudaMalloc_v3020" -> "cudaMalloc": nvprof omits the rest.
constexpr std::string_view without_version(std::string_view api_name) {
  const auto underscore = api_name.find('_');
  return underscore == 0 ? api_name : api_name.substr(0, underscore);
}

}  // namespace gpuprof::schema
