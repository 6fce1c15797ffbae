// What a process has mapped, from the text of its /proc/PID/maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::attach {

struct Mapping {
  std::uint64_t begin = 0, end = 0;
  bool executable = false;
  std::uint64_t offset = 0;  // in the file
  std::string path;          // empty: no file; " (deleted)" is left out
};

// Lines that are not as the kernel writes them are left out.
std::vector<Mapping> parse_maps(std::string_view text);

// What follows the last slash.
std::string_view file_name(std::string_view path);
std::string_view file_name(const Mapping& mapping);

// The start of the first file whose name `fits`; null: there is none.
template <class Fits>
const Mapping* find_file(const std::vector<Mapping>& maps, Fits&& fits) {
  for (const Mapping& mapping : maps) {
    if (mapping.offset == 0 && mapping.path.starts_with('/') && fits(file_name(mapping))) {
      return &mapping;
    }
  }
  return nullptr;
}

// The mapping that an address is in; null: none.
const Mapping* mapping_of(const std::vector<Mapping>& maps, std::uint64_t address);

}  // namespace gpuprof::attach
