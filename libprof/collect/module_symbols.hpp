// Which functions addresses of this process are in, by the kernel's list of its mappings and the
// files' own symbol tables. No lock of the dynamic loader is taken, and what is unloaded meanwhile
// does no harm: for threads of ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuprof::collect {

struct CodePlace {
  std::string module;        // path of the program or library; empty: the code is of no file
  std::uint64_t offset = 0;  // as the file's symbols count it, and addr2line; else the address
  std::string function;      // as the symbol table has it; empty: there is none, or no file
};

// As many as there are addresses. Memory: a block of a symbol table at a time.
std::vector<CodePlace> places_of(std::span<const std::uint64_t> addresses);

}  // namespace gpuprof::collect
