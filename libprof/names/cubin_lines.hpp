// Source lines of a cubin's instructions, from the DWARF line table that -lineinfo puts into it.
//
// A cubin is an ELF file supplied by the profiled program, so nothing in it is trusted; anything
// inconsistent yields no lines. NVIDIA's own opcodes in a line program are skipped. Supports DWARF
// 2 to 4, which is what ptxas writes.
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
    std::string_view file;  // path as passed to the compiler
    std::uint32_t number;   // from 1
  };

  // `wanted` selects the functions whose lines will be queried. The bytes are not needed
  // afterwards.
  CubinLines(std::span<const std::byte> cubin,
             const std::function<bool(std::string_view function)>& wanted);

  // `function` is the mangled name, `offset` the instruction's offset in bytes from the function's
  // start. The result is valid as long as this object.
  std::optional<Line> find(std::string_view function, std::uint64_t offset) const;

 private:
  struct Row {
    std::uint64_t address;
    std::uint32_t file;    // index into files_, from 1
    std::uint32_t number;  // 0: no line; also the end of a sequence
  };
  class Program;

  std::uint32_t file_number(std::string path);

  std::vector<std::string> files_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::map<std::string, std::vector<Row>, std::less<>> functions_;  // rows sorted by address
};

}  // namespace gpuprof
