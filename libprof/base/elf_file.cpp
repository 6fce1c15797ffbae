#include "libprof/base/elf_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "libprof/base/regular_file.hpp"

namespace gpuprof {
namespace {

constexpr std::size_t longest_name = 4096;
constexpr std::size_t block_symbols = 2048;

}  // namespace

ReadFile::ReadFile(const std::string& path) : file_(open_regular(path)) {}

std::size_t ReadFile::read(std::uint64_t at, void* to, std::size_t bytes) const {
  if (*file_ < 0 || at > INT64_MAX) return 0;
  const ssize_t got = pread(*file_, to, bytes, static_cast<off_t>(at));
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

std::string ReadFile::text() const {
  std::string all;
  std::vector<char> block(std::size_t{64} << 10);
  while (const std::size_t got = read(all.size(), block.data(), block.size())) {
    all.append(block.data(), got);
  }
  return all;
}

ElfFile::ElfFile(const std::string& path) : file_(path) {
  if (file_.read(0, &header_, sizeof header_) < sizeof header_) return;
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
      header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_shentsize != sizeof(Elf64_Shdr) ||
      header_.e_phentsize != sizeof(Elf64_Phdr)) {
    return;
  }
  segments_ = file_.read<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
  sections_ = file_.read<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
}

std::optional<std::uint64_t> ElfFile::address_of(std::uint64_t byte) const {
  for (const Elf64_Phdr& each : segments_) {
    if (each.p_type == PT_LOAD && byte >= each.p_offset && byte - each.p_offset < each.p_filesz) {
      return each.p_vaddr + (byte - each.p_offset);
    }
  }
  return {};
}

std::vector<std::string> ElfFile::functions_of(std::span<const std::uint64_t> addresses) const {
  std::vector<std::uint64_t> names(addresses.size());  // places in the file; 0: not found
  // The first has all functions, the second those visible to other files.
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == type) look_through(section, addresses, names);
    }
  }
  std::vector<std::string> functions(addresses.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != 0) functions[i] = text_at(names[i]);
  }
  return functions;
}

std::string ElfFile::text_at(std::uint64_t at) const {
  std::string text(longest_name, '\0');
  text.resize(file_.read(at, text.data(), text.size()));
  return text.substr(0, text.find('\0'));
}

bool ElfFile::has_section(std::string_view name) const {
  if (header_.e_shstrndx >= sections_.size()) return false;
  const std::uint64_t names = sections_[header_.e_shstrndx].sh_offset;
  return std::ranges::any_of(sections_, [&](const Elf64_Shdr& section) {
    return section.sh_name < INT32_MAX && text_at(names + section.sh_name) == name;
  });
}

void ElfFile::look_through(const Elf64_Shdr& table, std::span<const std::uint64_t> addresses,
                           std::vector<std::uint64_t>& names) const {
  if (table.sh_link >= sections_.size()) return;
  const std::uint64_t texts = sections_[table.sh_link].sh_offset;
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  for (std::uint64_t at = 0; at < count; at += block_symbols) {
    const auto symbols = file_.read<Elf64_Sym>(
        table.sh_offset + at * sizeof(Elf64_Sym),
        static_cast<std::size_t>(std::min<std::uint64_t>(block_symbols, count - at)));
    if (symbols.empty()) return;
    for (const Elf64_Sym& symbol : symbols) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
      for (auto each = std::ranges::lower_bound(addresses, symbol.st_value);
           each != addresses.end() && *each - symbol.st_value < symbol.st_size; ++each) {
        auto& name = names[static_cast<std::size_t>(each - addresses.begin())];
        if (name == 0) name = texts + symbol.st_name;
      }
    }
  }
}

}  // namespace gpuprof
