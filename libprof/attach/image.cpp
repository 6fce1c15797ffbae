#include "libprof/attach/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace gpuprof::attach {
namespace {

constexpr std::uint16_t most_segments = 64;
constexpr std::uint64_t most_entries = 512;  // of the dynamic section
constexpr int most_symbols_of_hash = 4096;   // in one chain
constexpr std::uint64_t most_code_bytes = 16 << 20;

// Of DT_GNU_HASH.
std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

struct GnuHash {
  std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
};

}  // namespace

std::optional<Image::Tables> Image::tables() const {
  Elf64_Ehdr header{};
  if (!read(begin_, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > most_segments) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_(begin_ + header.e_phoff, std::as_writable_bytes(std::span(segments)))) {
    return std::nullopt;
  }
  const auto first = std::ranges::find(segments, Elf64_Word{PT_LOAD}, &Elf64_Phdr::p_type);
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (first == segments.end() || dynamic == segments.end()) return std::nullopt;
  Tables found{.bias = begin_ - (first->p_vaddr - first->p_offset)};
  std::vector<Elf64_Dyn> entries(std::min(dynamic->p_memsz / sizeof(Elf64_Dyn), most_entries));
  if (!read_(found.bias + dynamic->p_vaddr, std::as_writable_bytes(std::span(entries)))) {
    return std::nullopt;
  }
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    // glibc makes these addresses absolute where it can write to the section.
    const std::uint64_t value = entry.d_un.d_ptr;
    const std::uint64_t address = value < begin_ ? found.bias + value : value;
    if (entry.d_tag == DT_GNU_HASH) found.hash = address;
    if (entry.d_tag == DT_SYMTAB) found.symbols = address;
    if (entry.d_tag == DT_STRTAB) found.names = address;
  }
  if (!found.hash || !found.symbols || !found.names) return std::nullopt;
  return found;
}

bool Image::is_name(std::uint64_t address, std::string_view name) const {
  std::string there(name.size() + 1, '\0');
  return read_(address, std::as_writable_bytes(std::span(there))) &&
         std::string_view(there.data(), name.size()) == name && there.back() == '\0';
}

std::optional<std::uint64_t> Image::function(std::string_view name) const {
  return symbol(name, STT_FUNC);
}

std::optional<std::uint64_t> Image::variable(std::string_view name) const {
  return symbol(name, STT_OBJECT);
}

std::optional<std::uint64_t> Image::symbol(std::string_view name, unsigned char type) const {
  const auto of = tables();
  GnuHash hash{};
  if (!of || !read(of->hash, hash) || hash.buckets == 0) return std::nullopt;
  const std::uint64_t buckets =
      of->hash + sizeof hash + std::uint64_t{hash.bloom_words} * sizeof(std::uint64_t);
  const std::uint64_t chains = buckets + std::uint64_t{hash.buckets} * sizeof(std::uint32_t);
  const std::uint32_t wanted = gnu_hash(name);
  std::uint32_t symbol = 0;
  if (!read(buckets + wanted % hash.buckets * sizeof symbol, symbol) ||
      symbol < hash.first_symbol) {
    return std::nullopt;
  }
  for (int i = 0; i < most_symbols_of_hash; ++i, ++symbol) {
    std::uint32_t link = 0;
    const std::uint64_t place = std::uint64_t{symbol} - hash.first_symbol;
    if (!read(chains + place * sizeof link, link)) return std::nullopt;
    Elf64_Sym entry{};
    if ((link | 1) == (wanted | 1) && read(of->symbols + symbol * sizeof entry, entry) &&
        entry.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(entry.st_info) == type &&
        is_name(of->names + entry.st_name, name)) {
      return of->bias + entry.st_value;
    }
    if (link & 1) break;  // the last of the chain
  }
  return std::nullopt;
}

std::optional<std::uint64_t> find_code(const ReadMemory& read, const std::vector<Mapping>& maps,
                                       const Mapping& library, std::span<const std::byte> code) {
  for (const Mapping& mapping : maps) {
    if (!mapping.executable || mapping.path != library.path) continue;
    const std::uint64_t size = mapping.end - mapping.begin;
    if (size > most_code_bytes) continue;
    std::vector<std::byte> bytes(size);
    if (!read(mapping.begin, bytes)) continue;
    const auto found = std::ranges::search(bytes, code);
    if (!found.empty()) {
      return mapping.begin + static_cast<std::uint64_t>(found.begin() - bytes.begin());
    }
  }
  return std::nullopt;
}

}  // namespace gpuprof::attach
