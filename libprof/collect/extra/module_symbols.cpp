#include "libprof/collect/extra/module_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>

namespace gpuprof::collect {
namespace {

constexpr std::size_t longest_name = 4096;
constexpr std::size_t block_symbols = 2048;

struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

class File {
 public:
  explicit File(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (file_ < 0 || (fstat(file_, &status) == 0 && S_ISREG(status.st_mode))) return;
    close(file_);
    file_ = -1;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ >= 0) close(file_);
  }

  // Returns the number of bytes read.
  std::size_t read(std::uint64_t at, void* to, std::size_t bytes) const {
    if (file_ < 0 || at > INT64_MAX) return 0;
    const ssize_t got = pread(file_, to, bytes, static_cast<off_t>(at));
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  // From beginning to end, as the system may not know the size beforehand.
  std::string text() const {
    std::string all;
    std::vector<char> block(std::size_t{64} << 10);
    while (const std::size_t got = read(all.size(), block.data(), block.size())) {
      all.append(block.data(), got);
    }
    return all;
  }
  template <class T>
  std::vector<T> read(std::uint64_t at, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(count);
    all.resize(read(at, all.data(), count * sizeof(T)) / sizeof(T));
    return all;
  }

 private:
  int file_;
};

// Mappings of files with code, sorted by address.
std::vector<Mapping> code_mappings() {
  std::vector<Mapping> all;
  const std::string list = File("/proc/self/maps").text();
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end_of_line = std::min(list.find('\n', at), list.size());
    const std::string line = list.substr(at, end_of_line - at);
    at = end_of_line + 1;
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, rights, &offset,
                    &path) != 4) {
      continue;
    }
    const auto name = static_cast<std::size_t>(path);
    if (rights[2] != 'x' || name >= line.size() || line[name] != '/') continue;
    all.push_back({begin, end, offset, line.substr(name)});
  }
  return all;
}

// A wanted address, and the symbol that contains it.
struct Wanted {
  std::uint64_t address = 0;  // in the numbering of the symbols
  CodePlace* place = nullptr;
  std::uint64_t name = 0;  // offset in the file; 0: not found
};

class Elf {
 public:
  explicit Elf(const std::string& path) : file_(path) {
    if (file_.read(0, &header_, sizeof header_) < sizeof header_) return;
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_shentsize != sizeof(Elf64_Shdr) ||
        header_.e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    segments_ = file_.read<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
    sections_ = file_.read<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
  }

  // The symbols' address of a byte of the file.
  std::optional<std::uint64_t> address_of(std::uint64_t byte) const {
    for (const Elf64_Phdr& each : segments_) {
      if (each.p_type == PT_LOAD && byte >= each.p_offset && byte - each.p_offset < each.p_filesz) {
        return each.p_vaddr + (byte - each.p_offset);
      }
    }
    return {};
  }

  // `wanted` is sorted by address.
  void name(std::span<Wanted> wanted) const {
    // The first has all functions, the second those visible to other files.
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (const Elf64_Shdr& section : sections_) {
        if (section.sh_type == type) look_through(section, wanted);
      }
    }
    for (const Wanted& each : wanted) {
      if (each.name == 0) continue;
      std::string text(longest_name, '\0');
      text.resize(file_.read(each.name, text.data(), text.size()));
      each.place->function = text.substr(0, text.find('\0'));
    }
  }

 private:
  void look_through(const Elf64_Shdr& table, std::span<Wanted> wanted) const {
    if (table.sh_link >= sections_.size()) return;
    const std::uint64_t names = sections_[table.sh_link].sh_offset;
    const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    for (std::uint64_t at = 0; at < count; at += block_symbols) {
      const auto symbols = file_.read<Elf64_Sym>(
          table.sh_offset + at * sizeof(Elf64_Sym),
          static_cast<std::size_t>(std::min<std::uint64_t>(block_symbols, count - at)));
      if (symbols.empty()) return;
      for (const Elf64_Sym& symbol : symbols) {
        const auto type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
        for (auto each = std::ranges::lower_bound(wanted, symbol.st_value, {}, &Wanted::address);
             each != wanted.end() && each->address - symbol.st_value < symbol.st_size; ++each) {
          if (each->name == 0) each->name = names + symbol.st_name;
        }
      }
    }
  }

  File file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::vector<CodePlace> places_of(std::span<const std::uint64_t> addresses) {
  const std::vector<Mapping> mappings = code_mappings();
  std::vector<CodePlace> places(addresses.size());
  std::map<std::string, std::vector<Wanted>> by_file;  // the address is an offset in the file
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t address = addresses[i];
    places[i].offset = address;
    auto mapping = std::ranges::upper_bound(mappings, address, {}, &Mapping::begin);
    if (mapping == mappings.begin() || address >= (--mapping)->end) continue;
    places[i].module = mapping->path;
    by_file[mapping->path].push_back({mapping->offset + (address - mapping->begin), &places[i]});
  }
  for (auto& [path, wanted] : by_file) {
    const Elf elf(path);
    std::vector<Wanted> found;
    for (const Wanted& each : wanted) {
      const auto address = elf.address_of(each.address);
      if (!address) continue;
      each.place->offset = *address;
      found.push_back({*address, each.place});
    }
    std::ranges::sort(found, {}, &Wanted::address);
    elf.name(found);
  }
  return places;
}

}  // namespace gpuprof::collect
