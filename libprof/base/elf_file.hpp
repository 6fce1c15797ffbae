// A program or library as a file: its functions and sections. It may be damaged, or anything else:
// then it has none. Any thread.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libprof/base/descriptor.hpp"

namespace gpuprof {

// A regular file that is read.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path);

  // Returns the number of bytes read.
  std::size_t read(std::uint64_t at, void* to, std::size_t bytes) const;
  // From beginning to end, as the system may not know the size beforehand.
  std::string text() const;
  template <class T>
  std::vector<T> read(std::uint64_t at, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(count);
    all.resize(read(at, all.data(), count * sizeof(T)) / sizeof(T));
    return all;
  }

 private:
  Descriptor file_;
};

class ElfFile {
 public:
  explicit ElfFile(const std::string& path);

  // The symbols' address of a byte of the file.
  std::optional<std::uint64_t> address_of(std::uint64_t byte) const;

  // The functions that contain the addresses, which are in ascending order; empty: none does. Holds
  // one block of a symbol table in memory at a time.
  std::vector<std::string> functions_of(std::span<const std::uint64_t> addresses) const;

  bool has_section(std::string_view name) const;

 private:
  void look_through(const Elf64_Shdr& table, std::span<const std::uint64_t> addresses,
                    std::vector<std::uint64_t>& names) const;
  std::string text_at(std::uint64_t at) const;

  ReadFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace gpuprof
