// Source lines of a cubin's instructions, from the DWARF line table that -lineinfo puts into it.
//
// A cubin is an ELF file that a program brought along: nothing in it is believed, and what does not
// add up has no lines. NVIDIA's own operations in a line program are passed over. DWARF 2 to 4, as
// ptxas writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

class CubinLines {
 public:
  struct Line {
    std::string_view file;  // path as the compiler was told it
    std::uint32_t number;   // from 1
  };

  // `wanted` says of which functions lines will be asked. The bytes are not needed afterwards.
  CubinLines(std::span<const std::byte> cubin,
             const std::function<bool(std::string_view function)>& wanted);

  // The function's mangled name, and the instruction in bytes from its beginning. Valid as long as
  // this is.
  std::optional<Line> find(std::string_view function, std::uint64_t offset) const;

 private:
  struct Row {
    std::uint64_t address;
    std::uint32_t file;    // counts files_ from 1
    std::uint32_t number;  // 0: no line; also the end of a sequence
  };
  class Program;

  std::uint32_t file_number(std::string path);

  std::vector<std::string> files_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::map<std::string, std::vector<Row>, std::less<>> functions_;  // rows in order of addresses
};

}  // namespace gpuprof
