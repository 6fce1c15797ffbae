#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libprof/python/function.hpp"

using gpuprof::python::instructions_of;
using gpuprof::python::PythonLayout;

namespace {

// A code object and the list of the copies of its instructions.
struct Memory {
  static constexpr std::uint64_t code = 0x10000, list = 0x20000, size = 40;

  std::uint64_t at_list = list, count = 0;
  std::vector<std::uint64_t> copies;
  int reads = 0;

  bool read(std::uint64_t from, void* to, std::size_t bytes) {
    ++reads;
    const auto give = [&](const void* what) {
      std::memcpy(to, what, bytes);
      return true;
    };
    if (from == code + layout().code.copies) return give(&at_list);
    if (from == list) return give(&count);
    const std::uint64_t first = (from - list) / 8 - 1;
    return first + bytes / 8 <= copies.size() && give(copies.data() + first);
  }
  static PythonLayout layout() {
    PythonLayout layout{};
    layout.code.instructions = 208;
    layout.code.copies = 200;
    return layout;
  }
  std::uint64_t of(std::uint64_t instruction, const PythonLayout& in = layout()) {
    return instructions_of(in, code, size, instruction, [&](auto... all) { return read(all...); });
  }
};

}  // namespace

TEST_CASE("instructions are found in the copy of a thread") {
  constexpr std::uint64_t own = Memory::code + 208;
  Memory memory;
  for (std::uint64_t i = 0; i < 200; ++i) memory.copies.push_back(0x100000 + i * 0x1000);
  memory.copies[0] = own;
  memory.copies[7] = 0;  // of a thread that has not run it
  memory.count = memory.copies.size();

  SECTION("those of the code object itself need no list") {
    CHECK(memory.of(own) == own);
    CHECK(memory.of(own + Memory::size - 2) == own);
    CHECK(memory.reads == 0);
  }
  SECTION("each copy is found, and nothing else") {
    for (const std::uint64_t i : {1, 63, 64, 199}) {
      CHECK(memory.of(memory.copies[i] + 6) == memory.copies[i]);
      CHECK(memory.of(memory.copies[i] + Memory::size) == 0);
      CHECK(memory.of(memory.copies[i] - 2) == 0);
    }
  }
  SECTION("a damaged list is not followed") {
    memory.count = 1 << 20;
    CHECK(memory.of(memory.copies[1]) == 0);
    memory.count = 300;  // more than there are
    CHECK(memory.of(0x900000) == 0);
    memory.at_list = 12;
    CHECK(memory.of(memory.copies[1]) == 0);
  }
  SECTION("without copies all are the code object's") {
    PythonLayout layout = Memory::layout();
    layout.code.copies = 0;
    CHECK(memory.of(0x900000, layout) == own);
    CHECK(memory.reads == 0);
  }
}
