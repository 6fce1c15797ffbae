// Maps addresses of this process to functions, using the kernel's list of mappings and the files'
// symbol tables. Takes no lock of the dynamic loader, and modules unloaded meanwhile do no harm:
// suitable for threads of ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuprof::collect {

struct CodePlace {
  std::string module;        // path of the program or library; empty: the code is not from a file
  std::uint64_t offset = 0;  // as in the file's symbols and addr2line; without a file, the address
  std::string function;      // from the symbol table; empty: not found, or no file
};

// One for each address. Holds one block of a symbol table in memory at a time.
std::vector<CodePlace> places_of(std::span<const std::uint64_t> addresses);

}  // namespace gpuprof::collect
