#include "libprof/collect/extra/frame_rules.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

namespace gpuprof::collect {
namespace {

constexpr std::size_t most_table_bytes = 1 << 16;  // of one function
constexpr int most_table_steps = 1 << 14;
constexpr std::size_t most_expressions = 64, most_expression_bytes = 256;

// Bytes of a table from their address on. What is beyond their end reads as 0 and is not whole.
class TableBytes {
 public:
  TableBytes() = default;
  TableBytes(std::uint64_t address, std::vector<std::byte> bytes)
      : address_(address), bytes_(std::move(bytes)) {}

  bool ended() const { return at_ >= bytes_.size(); }
  bool whole() const { return whole_; }
  std::uint64_t address() const { return address_ + at_; }
  void skip(std::uint64_t count) {
    whole_ &= count <= bytes_.size() - at_;
    at_ += static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_.size() - at_));
  }
  template <class T>
  T take() {
    T value{};
    if (bytes_.size() - at_ < sizeof value) {
      whole_ = false;
      at_ = bytes_.size();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t take_unsigned() { return take_leb().first; }
  std::int64_t take_signed() {
    const auto [value, bits] = take_leb();
    const bool negative = bits > 0 && bits < 64 && ((value >> (bits - 1)) & 1);
    return static_cast<std::int64_t>(negative ? value | ~std::uint64_t{0} << bits : value);
  }
  // A pointer as `encoding` says (DW_EH_PE_…); not whole: of a kind that is not known.
  std::uint64_t take_pointer(unsigned encoding) {
    const std::uint64_t here = address();
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c: value = take<std::uint64_t>(); break;
      case 0x02: value = take<std::uint16_t>(); break;
      case 0x03: value = take<std::uint32_t>(); break;
      case 0x0a: value = static_cast<std::uint64_t>(std::int64_t{take<std::int16_t>()}); break;
      case 0x0b: value = static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()}); break;
      default: whole_ = false;
    }
    const unsigned base = encoding & 0xf0;
    whole_ &= base == 0 || base == 0x10;
    return base == 0x10 ? value + here : value;
  }
  std::vector<std::byte> take_block() {
    const std::uint64_t size = take_unsigned();
    const std::size_t begin = at_;
    skip(size);
    const auto first = bytes_.begin();
    return {first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(at_)};
  }

 private:
  // A number of seven bits to a byte, and how many bits there were.
  std::pair<std::uint64_t, unsigned> take_leb() {
    std::uint64_t value = 0;
    unsigned bits = 0;
    while (true) {
      const auto byte = take<std::uint8_t>();
      if (bits < 64) value |= std::uint64_t{byte & 0x7fu} << bits;
      bits += 7;
      if (!(byte & 0x80) || !whole_) return {value, bits};
    }
  }

  std::uint64_t address_ = 0;
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

// An entry of .eh_frame: the number after its length, and what follows that.
struct TableEntry {
  std::uint64_t place = 0;  // of the number
  std::uint32_t number = 0;
  TableBytes bytes;
};

std::optional<TableEntry> read_entry(std::uint64_t address, const ReadBytes& read) {
  struct {
    std::uint32_t length, number;
  } head{};
  if (!read(address, &head, sizeof head) || head.length < sizeof head.number ||
      head.length > most_table_bytes) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(head.length - sizeof head.number);
  if (!bytes.empty() && !read(address + sizeof head, bytes.data(), bytes.size())) {
    return std::nullopt;
  }
  return TableEntry{address + sizeof head.length, head.number,
                    TableBytes(address + sizeof head, std::move(bytes))};
}

// The address of the entry for `address`; 0: there is none.
std::uint64_t find_entry(std::uint64_t header, std::uint64_t address, const ReadBytes& read) {
  struct {
    std::uint8_t version, frame_encoding, count_encoding, table_encoding;
    std::int32_t frame;
    std::uint32_t count;
  } head{};
  constexpr unsigned four_bytes = 0x03, table = 0x3b;  // signed, from the header's address
  if (!read(header, &head, sizeof head) || head.version != 1 ||
      (head.frame_encoding & 0x07) != four_bytes || head.count_encoding != four_bytes ||
      head.table_encoding != table) {
    return 0;
  }
  struct Row {
    std::int32_t begin, entry;
  };
  const auto to_address = [header](std::int32_t offset) {
    return header + static_cast<std::uint64_t>(std::int64_t{offset});
  };
  const auto read_row = [&](std::uint32_t number, Row& row) {
    return read(header + sizeof head + std::uint64_t{number} * sizeof row, &row, sizeof row);
  };
  // The last row that begins at the address or before it.
  Row row{}, found{};
  std::uint32_t below = 0, above = head.count;
  while (below < above) {
    const std::uint32_t middle = below + (above - below) / 2;
    if (!read_row(middle, row)) return 0;
    if (to_address(row.begin) <= address) {
      found = row;
      below = middle + 1;
    } else {
      above = middle;
    }
  }
  return below == 0 ? 0 : to_address(found.entry);
}

// What the functions of an entry have in common.
struct CommonTable {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::size_t return_register = 0;
  unsigned pointers = 0;
  bool has_sizes = false;
  bool is_signal = false;
  TableBytes instructions;
};

std::optional<CommonTable> read_common(std::uint64_t address, const ReadBytes& read) {
  auto entry = read_entry(address, read);
  if (!entry || entry->number != 0) return std::nullopt;
  TableBytes& bytes = entry->bytes;
  CommonTable common;
  const auto version = bytes.take<std::uint8_t>();
  std::string words;
  while (const auto letter = bytes.take<char>()) words += letter;
  common.code_unit = bytes.take_unsigned();
  common.data_unit = bytes.take_signed();
  common.return_register =
      static_cast<std::size_t>(version == 1 ? bytes.take<std::uint8_t>() : bytes.take_unsigned());
  if ((version != 1 && version != 3) || common.return_register >= Registers::count) {
    return std::nullopt;
  }
  common.has_sizes = words.starts_with('z');
  if (!words.empty() && !common.has_sizes) return std::nullopt;
  TableBytes after = bytes;
  if (common.has_sizes) {
    const std::uint64_t size = bytes.take_unsigned();
    after = bytes;
    after.skip(size);
  }
  for (const char letter : words) {
    if (letter == 'R') common.pointers = bytes.take<std::uint8_t>();
    if (letter == 'L') bytes.skip(1);
    if (letter == 'S') common.is_signal = true;
    if (letter == 'P') {
      // What it refers to is not looked at, so it may be anywhere.
      constexpr unsigned none = 0xff;
      const unsigned encoding = bytes.take<std::uint8_t>();
      if (encoding != none) bytes.take_pointer(encoding & 0x0f);
    }
  }
  if (!bytes.whole() || !after.whole()) return std::nullopt;
  common.instructions = after;  // what other letters have is passed over
  return common;
}

// Carries out the instructions of a table.
class TableRun {
 public:
  TableRun(const CommonTable& common, std::uint64_t begin) : common_(common), place_(begin) {
    rule.return_register = common.return_register;
    rule.is_signal = common.is_signal;
  }

  FrameRule rule;

  // Up to the address. false: something is not known.
  bool run(TableBytes bytes, std::uint64_t address) {
    for (int i = 0; i < most_table_steps && !bytes.ended(); ++i) {
      const unsigned code = bytes.take<std::uint8_t>();
      if (!step(code, bytes) || !bytes.whole()) return false;
      if (place_ > address) return true;  // what follows is of other addresses
    }
    return bytes.ended();
  }
  // After the instructions that functions have in common.
  void begin_function() { initial_ = rule.registers; }

 private:
  using How = FrameRule::How;

  void advance(std::uint64_t units) { place_ += units * common_.code_unit; }
  void set(std::uint64_t number, FrameRule::Value value) {
    if (number < Registers::count) rule.registers[number] = value;
  }
  // Whatever the numbers are.
  std::int64_t offset_of(std::int64_t units) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(units) *
                                     static_cast<std::uint64_t>(common_.data_unit));
  }
  void set_offset(std::uint64_t number, How how, std::int64_t units) {
    set(number, {how, 0, offset_of(units)});
  }
  void restore(std::uint64_t number) {
    if (number < Registers::count) rule.registers[number] = initial_[number];
  }
  bool set_cfa(std::uint64_t number, std::int64_t offset) {
    rule.cfa = {How::is_offset, static_cast<std::uint8_t>(number), offset};
    return number < Registers::count;
  }
  // false: it is more than frames have, and a rule is kept.
  bool take_expression(TableBytes& bytes, FrameRule::Value& value, How how) {
    value = {how, 0, std::ssize(rule.expressions)};
    rule.expressions.push_back(bytes.take_block());
    return rule.expressions.size() <= most_expressions &&
           rule.expressions.back().size() <= most_expression_bytes;
  }
  bool set_expression(std::uint64_t number, How how, TableBytes& bytes) {
    FrameRule::Value value;
    if (!take_expression(bytes, value, how)) return false;
    set(number, value);
    return true;
  }

  bool step(unsigned code, TableBytes& bytes) {
    const unsigned low = code & 0x3f;
    switch (code >> 6) {
      case 1: advance(low); return true;
      case 2:
        set_offset(low, How::at_offset, static_cast<std::int64_t>(bytes.take_unsigned()));
        return true;
      case 3: restore(low); return true;
      default: return step_long(low, bytes);
    }
  }

  bool step_long(unsigned code, TableBytes& bytes) {
    const auto number = [&] { return bytes.take_unsigned(); };
    const auto units = [&] { return static_cast<std::int64_t>(bytes.take_unsigned()); };
    switch (code) {
      case 0x00: return true;  // nop
      case 0x01: place_ = bytes.take_pointer(common_.pointers); return true;
      case 0x02: advance(bytes.take<std::uint8_t>()); return true;
      case 0x03: advance(bytes.take<std::uint16_t>()); return true;
      case 0x04: advance(bytes.take<std::uint32_t>()); return true;
      case 0x06: restore(number()); return true;
      case 0x07: set(number(), {How::unknown}); return true;
      case 0x08: set(number(), {How::same}); return true;
      case 0x0a: return push();
      case 0x0b: return pop();
      case 0x0d: return set_cfa(number(), rule.cfa.number);
      case 0x0e: rule.cfa.number = units(); return rule.cfa.how == How::is_offset;
      case 0x13:
        rule.cfa.number = offset_of(bytes.take_signed());
        return rule.cfa.how == How::is_offset;
      case 0x0f: return take_expression(bytes, rule.cfa, How::is_expression);
      case 0x2d: return true;            // return addresses are signed, or no longer: aarch64
      case 0x2e: number(); return true;  // the size of arguments
      default: break;
    }
    const std::uint64_t which = number();
    switch (code) {
      case 0x05: set_offset(which, How::at_offset, units()); return true;
      case 0x09: set(which, {How::in_register, 0, units()}); return true;
      case 0x0c: return set_cfa(which, units());
      case 0x10: return set_expression(which, How::at_expression, bytes);
      case 0x11: set_offset(which, How::at_offset, bytes.take_signed()); return true;
      case 0x12: return set_cfa(which, offset_of(bytes.take_signed()));
      case 0x14: set_offset(which, How::is_offset, units()); return true;
      case 0x15: set_offset(which, How::is_offset, bytes.take_signed()); return true;
      case 0x16: return set_expression(which, How::is_expression, bytes);
      default: return false;
    }
  }

  bool push() {
    constexpr std::size_t most = 16;
    kept_.emplace_back(rule.cfa, rule.registers);
    return kept_.size() < most;
  }
  bool pop() {
    if (kept_.empty()) return false;
    std::tie(rule.cfa, rule.registers) = kept_.back();
    kept_.pop_back();
    return true;
  }

  const CommonTable& common_;
  std::uint64_t place_;
  std::array<FrameRule::Value, Registers::count> initial_{};
  std::vector<std::pair<FrameRule::Value, std::array<FrameRule::Value, Registers::count>>> kept_;
};

// --- expressions

// DWARF's stack machine, as far as frames use it.
class Expression {
 public:
  Expression(const Registers& registers, const ReadWord& stack)
      : registers_(registers), stack_(stack) {}

  // nullopt: something is not known, or not there.
  std::optional<std::uint64_t> value_of(std::span<const std::byte> code,
                                        std::optional<std::uint64_t> first) {
    values_.clear();
    if (first) values_.push_back(*first);
    TableBytes bytes(0, {code.begin(), code.end()});
    while (!bytes.ended()) {
      if (!step(bytes.take<std::uint8_t>(), bytes) || !bytes.whole()) return std::nullopt;
    }
    return values_.empty() ? std::nullopt : std::optional(values_.back());
  }

 private:
  bool push(std::uint64_t value) {
    constexpr std::size_t most = 64;
    values_.push_back(value);
    return values_.size() < most;
  }
  bool push_register(std::uint64_t number, std::int64_t offset) {
    return number < Registers::count &&
           push(registers_.values[number] + static_cast<std::uint64_t>(offset));
  }
  bool step(unsigned code, TableBytes& bytes) {
    if (code >= 0x30 && code <= 0x4f) return push(code - 0x30);
    if (code >= 0x70 && code <= 0x8f) return push_register(code - 0x70, bytes.take_signed());
    const auto push_signed = [this](std::int64_t value) {
      return push(static_cast<std::uint64_t>(value));
    };
    switch (code) {
      case 0x03:
      case 0x0e: return push(bytes.take<std::uint64_t>());
      case 0x08: return push(bytes.take<std::uint8_t>());
      case 0x09: return push_signed(bytes.take<std::int8_t>());
      case 0x0a: return push(bytes.take<std::uint16_t>());
      case 0x0b: return push_signed(bytes.take<std::int16_t>());
      case 0x0c: return push(bytes.take<std::uint32_t>());
      case 0x0d: return push_signed(bytes.take<std::int32_t>());
      case 0x0f: return push_signed(bytes.take<std::int64_t>());
      case 0x10: return push(bytes.take_unsigned());
      case 0x11: return push_signed(bytes.take_signed());
      case 0x96: return true;
      default: break;
    }
    if (values_.empty()) return false;
    std::uint64_t& top = values_.back();
    switch (code) {
      case 0x06: return stack_(top, top);
      case 0x12: return push(top);
      case 0x13: values_.pop_back(); return true;
      case 0x1f: top = ~top + 1; return true;
      case 0x20: top = ~top; return true;
      case 0x23: top += bytes.take_unsigned(); return true;
      default: return combine(code);
    }
  }
  // The two upper values become one.
  bool combine(unsigned code) {
    if (values_.size() < 2) return false;
    const std::uint64_t b = values_.back();
    values_.pop_back();
    std::uint64_t& a = values_.back();
    const auto first = static_cast<std::int64_t>(a), second = static_cast<std::int64_t>(b);
    switch (code) {
      case 0x1a: a &= b; return true;
      case 0x1c: a -= b; return true;
      case 0x1e: a *= b; return true;
      case 0x21: a |= b; return true;
      case 0x22: a += b; return true;
      case 0x24: a = b < 64 ? a << b : 0; return true;
      case 0x25: a = b < 64 ? a >> b : 0; return true;
      case 0x27: a ^= b; return true;
      case 0x29: a = first == second; return true;
      case 0x2a: a = first >= second; return true;
      case 0x2b: a = first > second; return true;
      case 0x2c: a = first <= second; return true;
      case 0x2d: a = first < second; return true;
      case 0x2e: a = first != second; return true;
      default: return false;
    }
  }

  const Registers& registers_;
  const ReadWord& stack_;
  std::vector<std::uint64_t> values_;
};

// An address without the bits that sign it.
std::uint64_t unsigned_address(std::uint64_t address) {
#if defined(__aarch64__)
  constexpr std::uint64_t of_address = (std::uint64_t{1} << 48) - 1;
  return address & of_address;
#else
  return address;
#endif
}

}  // namespace

std::optional<FrameRule> rule_at(std::uint64_t header, std::uint64_t address,
                                 const ReadBytes& read) {
  const std::uint64_t place = find_entry(header, address, read);
  auto entry = place == 0 ? std::nullopt : read_entry(place, read);
  if (!entry || entry->number == 0) return std::nullopt;
  const auto common = read_common(entry->place - entry->number, read);
  if (!common) return std::nullopt;
  TableBytes& bytes = entry->bytes;
  const std::uint64_t begin = bytes.take_pointer(common->pointers);
  const std::uint64_t size = bytes.take_pointer(common->pointers & 0x0f);
  if (common->has_sizes) bytes.skip(bytes.take_unsigned());
  if (!bytes.whole() || address < begin || address - begin >= size) return std::nullopt;
  TableRun run(*common, begin);
  if (!run.run(common->instructions, address)) return std::nullopt;
  run.begin_function();
  if (!run.run(bytes, address)) return std::nullopt;
  return std::move(run.rule);
}

bool step_out(const FrameRule& rule, Registers& registers, const ReadWord& stack) {
  using How = FrameRule::How;
  Expression expression(registers, stack);
  const auto evaluate = [&](std::int64_t number, std::optional<std::uint64_t> first) {
    return expression.value_of(rule.expressions[static_cast<std::size_t>(number)], first);
  };
  std::optional<std::uint64_t> cfa;
  if (rule.cfa.how == How::is_expression) {
    cfa = evaluate(rule.cfa.number, std::nullopt);
  } else if (rule.cfa.how == How::is_offset) {
    cfa = registers.values[rule.cfa.base] + static_cast<std::uint64_t>(rule.cfa.number);
  }
  if (!cfa) return false;
  Registers out = registers;
  out.values[Registers::stack] = *cfa;
  for (std::size_t i = 0; i < Registers::count; ++i) {
    const FrameRule::Value& value = rule.registers[i];
    std::uint64_t& to = out.values[i];
    std::optional<std::uint64_t> found;
    switch (value.how) {
      case How::same: continue;
      case How::unknown:
        if (i == rule.return_register) return false;
        continue;
      case How::at_offset:
        if (!stack(*cfa + static_cast<std::uint64_t>(value.number), to)) return false;
        continue;
      case How::is_offset: to = *cfa + static_cast<std::uint64_t>(value.number); continue;
      case How::in_register:
        if (value.number < 0 || value.number >= std::int64_t{Registers::count}) return false;
        to = registers.values[static_cast<std::size_t>(value.number)];
        continue;
      case How::at_expression:
        found = evaluate(value.number, cfa);
        if (!found || !stack(*found, to)) return false;
        continue;
      case How::is_expression:
        found = evaluate(value.number, cfa);
        if (!found) return false;
        to = *found;
        continue;
    }
  }
  out.instruction = unsigned_address(out.values[rule.return_register]);
  registers = out;
  return true;
}

}  // namespace gpuprof::collect
