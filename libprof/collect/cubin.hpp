// The kernels and device functions of a cubin, from the names of its ELF sections.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>

namespace gpuprof::collect {

// Calls f(name) for each function, in section order. Malformed ELF yields none.
template <class F>
void for_each_function(const void* cubin, std::size_t size, F&& f) {
  constexpr char prefix[] = ".text.";
  const auto* bytes = static_cast<const char*>(cubin);
  if (size < sizeof(Elf64_Ehdr) || std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  const auto in_file = [&](std::uint64_t offset, std::uint64_t length) {
    return offset <= size && length <= size - offset;
  };
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      !in_file(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) ||
      header.e_shstrndx >= header.e_shnum) {
    return;
  }
  const auto section_at = [&](std::size_t index) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + index * sizeof section, sizeof section);
    return section;
  };
  const Elf64_Shdr names = section_at(header.e_shstrndx);
  if (!in_file(names.sh_offset, names.sh_size)) return;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = section_at(i);
    if (section.sh_name >= names.sh_size) continue;
    const char* name = bytes + names.sh_offset + section.sh_name;
    const std::size_t longest = names.sh_size - section.sh_name;
    if (strnlen(name, longest) == longest) continue;
    if (std::strncmp(name, prefix, sizeof prefix - 1) == 0) f(name + sizeof prefix - 1);
  }
}

}  // namespace gpuprof::collect
