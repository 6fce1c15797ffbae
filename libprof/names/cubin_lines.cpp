#include "libprof/names/cubin_lines.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gpuprof {
namespace {

using Bytes = std::span<const std::byte>;

// For all functions of a cubin together: 100 MB.
constexpr std::size_t most_rows = std::size_t{4} << 20;
constexpr std::size_t most_path = 4096;

// Reads consecutive values; past the end it returns zeros, and ok() is false.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T read{};
    const Bytes taken = raw(sizeof read);
    if (!taken.empty()) std::memcpy(&read, taken.data(), sizeof read);
    return read;
  }
  Bytes raw(std::size_t count) {
    if (count > bytes_.size() - at_) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  std::string_view text() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const std::size_t length = strnlen(begin, bytes_.size() - at_);
    raw(length + 1);
    return ok_ ? std::string_view(begin, length) : std::string_view();
  }
  // LEB128.
  std::uint64_t number() {
    std::uint64_t result = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = value<std::uint8_t>();
      if (shift < 64) result |= std::uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80) || !ok_) return result;
    }
  }
  std::int64_t signed_number() {
    std::uint64_t result = 0;
    for (unsigned shift = 0;;) {
      const auto byte = value<std::uint8_t>();
      if (shift < 64) result |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) && ok_) continue;
      if ((byte & 0x40) && shift < 64) result |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(result);
    }
  }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  bool ok() const { return ok_; }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

class Elf {
 public:
  explicit Elf(Bytes bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof header_) return;
    std::memcpy(&header_, bytes.data(), sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
      return;
    }
    const Bytes table = part(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
    sections_.resize(table.size() / sizeof(Elf64_Shdr));
    if (!sections_.empty()) std::memcpy(sections_.data(), table.data(), table.size());
  }

  std::span<const Elf64_Shdr> sections() const { return sections_; }
  Bytes content(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? Bytes() : part(section.sh_offset, section.sh_size);
  }
  Bytes content(std::uint64_t number) const {
    return number < sections_.size() ? content(sections_[number]) : Bytes();
  }
  std::string_view name(const Elf64_Shdr& section) const {
    return text(content(std::uint64_t{header_.e_shstrndx}), section.sh_name);
  }
  const Elf64_Shdr* find(std::string_view wanted) const {
    const auto found = std::ranges::find_if(
        sections_, [&](const Elf64_Shdr& section) { return name(section) == wanted; });
    return found == sections_.end() ? nullptr : &*found;
  }
  // The function that a symbol refers to, directly or through its section.
  std::string_view function(const Elf64_Shdr& symbols, std::uint64_t number) const {
    const Bytes table = content(symbols);
    Elf64_Sym symbol;
    if (number >= table.size() / sizeof symbol) return {};
    std::memcpy(&symbol, table.data() + number * sizeof symbol, sizeof symbol);
    constexpr std::string_view prefix = ".text.";
    if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION) {
      return text(content(std::uint64_t{symbols.sh_link}), symbol.st_name);
    }
    if (symbol.st_shndx >= sections_.size()) return {};
    const std::string_view section = name(sections_[symbol.st_shndx]);
    return section.starts_with(prefix) ? section.substr(prefix.size()) : std::string_view();
  }

 private:
  Bytes part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
    return bytes_.subspan(offset, size);
  }
  static std::string_view text(Bytes texts, std::uint64_t offset) {
    if (offset >= texts.size()) return {};
    Reader reader(texts.subspan(offset));
    return reader.text();
  }

  Bytes bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

struct Place {
  std::string_view function;
  std::uint64_t addend = 0;
};

// The function for each address in the line table, by the address's position there.
std::map<std::uint64_t, Place> relocations(const Elf& elf, std::string_view of) {
  std::map<std::uint64_t, Place> places;
  const auto take = [&](const Elf64_Shdr& section, auto entry) {
    if (section.sh_link >= elf.sections().size()) return;
    const Elf64_Shdr& symbols = elf.sections()[section.sh_link];
    Reader reader(elf.content(section));
    while (reader.left() >= sizeof entry) {
      entry = reader.value<decltype(entry)>();
      Place place{elf.function(symbols, ELF64_R_SYM(entry.r_info)), 0};
      if constexpr (std::is_same_v<decltype(entry), Elf64_Rela>) {
        place.addend = static_cast<std::uint64_t>(entry.r_addend);
      }
      if (!place.function.empty()) places[entry.r_offset] = place;
    }
  };
  if (const auto* rela = elf.find(".rela" + std::string(of))) take(*rela, Elf64_Rela{});
  if (const auto* rel = elf.find(".rel" + std::string(of))) take(*rel, Elf64_Rel{});
  return places;
}

}  // namespace

// A line program, which produces rows when it is run.
class CubinLines::Program {
 public:
  // `unit`: part of the section, from its version field on; `base`: its offset in the section.
  Program(CubinLines& lines, Bytes unit, std::size_t base,
          const std::map<std::uint64_t, Place>& places,
          const std::function<bool(std::string_view)>& wanted, std::size_t& room)
      : lines_(lines), reader_(unit), base_(base), places_(places), wanted_(wanted), room_(room) {}

  void run() {
    if (!head()) return;
    while (reader_.left() > 0 && reader_.ok()) step();
  }

 private:
  bool head() {
    const auto version = reader_.value<std::uint16_t>();
    const auto length = reader_.value<std::uint32_t>();
    const std::size_t end = reader_.at() + length;
    least_ = reader_.value<std::uint8_t>();
    if (version >= 4) reader_.value<std::uint8_t>();
    reader_.value<std::uint8_t>();  // is_stmt
    line_base_ = reader_.value<std::int8_t>();
    line_range_ = reader_.value<std::uint8_t>();
    opcodes_ = reader_.value<std::uint8_t>();
    if (version < 2 || version > 4 || line_range_ == 0 || opcodes_ == 0) return false;
    for (int i = 1; i < opcodes_; ++i) operands_.push_back(reader_.value<std::uint8_t>());
    std::vector<std::string_view> folders;
    for (auto folder = reader_.text(); !folder.empty(); folder = reader_.text()) {
      folders.push_back(folder);
    }
    for (auto name = reader_.text(); !name.empty(); name = reader_.text()) {
      const std::uint64_t folder = reader_.number();
      reader_.number();
      reader_.number();
      std::string path(name);
      if (folder > 0 && folder <= folders.size() && !name.starts_with('/')) {
        path = std::string(folders[folder - 1]) + "/" + path;
      }
      files_.push_back(lines_.file_number(path.substr(0, most_path)));
    }
    if (!reader_.ok() || reader_.at() > end) return false;
    reader_.raw(end - reader_.at());
    return reader_.ok();
  }

  void step() {
    const auto opcode = reader_.value<std::uint8_t>();
    if (opcode >= opcodes_) {
      const int adjusted = opcode - opcodes_;
      address_ += static_cast<std::uint64_t>(adjusted / line_range_) * least_;
      line_ += static_cast<std::uint64_t>(std::int64_t{line_base_} + adjusted % line_range_);
      return emit(line_);
    }
    switch (opcode) {
      case 0: return extended();
      case 1: return emit(line_);                             // copy
      case 2: address_ += reader_.number() * least_; return;  // advance pc
      case 3: line_ += static_cast<std::uint64_t>(reader_.signed_number()); return;
      case 4: file_ = reader_.number(); return;  // set file
      case 8:
        address_ += static_cast<std::uint64_t>((255 - opcodes_) / line_range_) * least_;
        return;                                                    // const add pc
      case 9: address_ += reader_.value<std::uint16_t>(); return;  // fixed advance pc
      default:
        for (int i = 0; i < operands_[opcode - 1u]; ++i) reader_.number();
    }
  }

  void extended() {
    const std::uint64_t length = reader_.number();
    if (length == 0 || length > reader_.left()) {
      reader_.raw(reader_.left() + 1);
      return;
    }
    const std::size_t at = base_ + reader_.at() + 1;
    Reader operation(reader_.raw(length));
    switch (operation.value<std::uint8_t>()) {
      case 1:  // end of sequence
        emit(0);
        start();
        return;
      case 2: return set_address(at, operation);
      default: return;  // such as NVIDIA's inlined calls
    }
  }

  void start() {
    address_ = 0;
    file_ = 1;
    line_ = 1;
    rows_ = nullptr;
  }

  void set_address(std::size_t at, Reader operation) {
    address_ = operation.value<std::uint64_t>();
    const auto place = places_.find(at);
    rows_ = nullptr;
    if (place == places_.end() || !wanted_(place->second.function)) return;
    address_ += place->second.addend;
    rows_ = &lines_.functions_[std::string(place->second.function)];
  }

  void emit(std::uint64_t line) {
    if (!rows_ || room_ == 0) return;
    --room_;
    const bool known = line > 0 && line <= UINT32_MAX && file_ > 0 && file_ <= files_.size();
    rows_->push_back(
        {address_, known ? files_[file_ - 1] : 0, known ? static_cast<std::uint32_t>(line) : 0});
  }

  CubinLines& lines_;
  Reader reader_;
  const std::size_t base_;
  const std::map<std::uint64_t, Place>& places_;
  const std::function<bool(std::string_view)>& wanted_;
  std::size_t& room_;

  std::uint8_t least_ = 1;
  std::int8_t line_base_ = 0;
  std::uint8_t line_range_ = 0;
  std::uint8_t opcodes_ = 0;
  std::vector<std::uint8_t> operands_;
  std::vector<std::uint32_t> files_;

  std::uint64_t address_ = 0;
  std::uint64_t file_ = 1;
  std::uint64_t line_ = 1;
  std::vector<Row>* rows_ = nullptr;  // null: not in a wanted function
};

CubinLines::CubinLines(Bytes cubin, const std::function<bool(std::string_view)>& wanted) {
  constexpr std::string_view name = ".debug_line";
  const Elf elf(cubin);
  const Elf64_Shdr* const section = elf.find(name);
  if (!section) return;
  const auto places = relocations(elf, name);
  const Bytes table = elf.content(*section);
  Reader reader(table);
  std::size_t room = most_rows;
  while (reader.left() > sizeof(std::uint32_t) && reader.ok()) {
    const auto length = reader.value<std::uint32_t>();
    const std::size_t base = reader.at();
    // 64-bit DWARF is marked by 0xffffffff, which no section is long enough for.
    const Bytes unit = reader.raw(length);
    Program(*this, unit, base, places, wanted, room).run();
  }
  for (auto& [function, rows] : functions_) {
    std::ranges::stable_sort(rows, {}, &Row::address);
  }
}

std::uint32_t CubinLines::file_number(std::string path) {
  const auto [known, fresh] = numbers_.try_emplace(std::move(path), 0);
  if (fresh) {
    files_.push_back(known->first);
    known->second = static_cast<std::uint32_t>(files_.size());
  }
  return known->second;
}

std::optional<CubinLines::Line> CubinLines::find(std::string_view function,
                                                 std::uint64_t offset) const {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return std::nullopt;
  const auto& rows = found->second;
  auto row = std::ranges::upper_bound(rows, offset, {}, &Row::address);
  if (row == rows.begin()) return std::nullopt;
  --row;
  if (row->number == 0) return std::nullopt;
  return Line{files_[row->file - 1], row->number};
}

}  // namespace gpuprof
