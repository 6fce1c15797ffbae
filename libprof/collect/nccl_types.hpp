// The types of NCCL's elements, by the names that it reports, which begin with "nccl" there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::collect {

struct NcclType {
  std::string_view name;
  std::uint8_t size;  // bytes
};

inline constexpr std::array<NcclType, 12> nccl_types{{{"Int8", 1},
                                                      {"Uint8", 1},
                                                      {"Int32", 4},
                                                      {"Uint32", 4},
                                                      {"Int64", 8},
                                                      {"Uint64", 8},
                                                      {"Float16", 2},
                                                      {"Float32", 4},
                                                      {"Float64", 8},
                                                      {"Bfloat16", 2},
                                                      {"Float8e4m3", 1},
                                                      {"Float8e5m2", 1}}};

// Its number, from 1; 0: not known.
constexpr std::size_t nccl_type_number(std::string_view name) {
  for (std::size_t i = 0; i < nccl_types.size(); ++i) {
    if (nccl_types[i].name == name) return i + 1;
  }
  return 0;
}

// Bytes; 0: not known.
constexpr std::uint8_t nccl_element_size(std::string_view name) {
  const std::size_t number = nccl_type_number(name);
  return number == 0 ? std::uint8_t{0} : nccl_types[number - 1].size;
}

}  // namespace gpuprof::collect
