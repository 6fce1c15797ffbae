// Finds the line of an instruction of a Python function, using the location table of its code:
// co_linetable, and co_lnotab of Python 3.9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof::python {

// Of Python 3.11 and newer. The table is passed in pieces, until the line is known or the table
// ends.
class PythonLine {
 public:
  // `unit`: the instruction's index in code units of two bytes.
  PythonLine(std::int64_t first_line, std::uint64_t unit) : line_(first_line), unit_(unit) {}

  // Returns whether more of the table is needed.
  bool wants(std::span<const std::uint8_t> piece) {
    for (const std::uint8_t byte : piece) {
      if (byte & 0x80) {
        if (unit_ < end_) return false;
        begin_entry(byte);
      } else if (reads_delta_) {
        take_delta(byte);
      }
    }
    return true;
  }

  // 0: the instruction has no line, or is beyond the table.
  std::uint32_t line() const {
    const bool known = unit_ < end_ && has_line_ && line_ > 0 && line_ <= INT32_MAX;
    return known ? static_cast<std::uint32_t>(line_) : 0;
  }

 private:
  // The first byte of an entry holds its kind and its length in units.
  void begin_entry(std::uint8_t byte) {
    const unsigned kind = (byte >> 3) & 15;
    end_ += (byte & 7u) + 1;
    has_line_ = kind != 15;
    reads_delta_ = kind == 13 || kind == 14;
    delta_ = 0;
    shift_ = 0;
    if (kind >= 10 && kind <= 12) line_ += kind - 10;
  }
  // Six bits per byte, lowest first; the very lowest bit is the sign.
  void take_delta(std::uint8_t byte) {
    if (shift_ < 36) delta_ |= std::uint64_t{byte & 63u} << shift_;
    shift_ += 6;
    if (byte & 64) return;
    reads_delta_ = false;
    const auto size = static_cast<std::int64_t>(delta_ >> 1);
    line_ += delta_ & 1 ? -size : size;
  }

  std::int64_t line_;
  const std::uint64_t unit_;
  std::uint64_t end_ = 0;  // of the entry, in units
  bool has_line_ = false, reads_delta_ = false;
  std::uint64_t delta_ = 0;
  unsigned shift_ = 0;
};

// Of Python 3.9 and 3.10, where the table has pairs of bytes: how far, and how many lines.
class PythonLineByPairs {
 public:
  // `increments`: the lines of a pair come after its bytes, as in 3.9; otherwise with them.
  PythonLineByPairs(std::int64_t first_line, std::uint64_t unit, bool increments)
      : line_(first_line), byte_(2 * unit), increments_(increments) {}

  // As PythonLine's; pairs may be in two pieces.
  bool wants(std::span<const std::uint8_t> piece) {
    for (const std::uint8_t byte : piece) {
      is_second_ = !is_second_;
      if (is_second_) {
        end_ += byte;
        found_ |= increments_ && byte_ < end_;
      } else {
        take_lines(static_cast<std::int8_t>(byte));
      }
      if (found_) return false;
    }
    return true;
  }

  std::uint32_t line() const {
    const bool known = (found_ || increments_) && has_line_ && line_ > 0 && line_ <= INT32_MAX;
    return known ? static_cast<std::uint32_t>(line_) : 0;
  }

 private:
  void take_lines(std::int8_t lines) {
    constexpr std::int8_t none = -128;
    has_line_ = increments_ || lines != none;
    if (has_line_) line_ += lines;
    found_ = !increments_ && byte_ < end_;
  }

  std::int64_t line_;
  const std::uint64_t byte_;
  const bool increments_;
  std::uint64_t end_ = 0;   // of the pair, in bytes of code
  bool is_second_ = false;  // the next byte is a pair's second
  bool has_line_ = true, found_ = false;
};

}  // namespace gpuprof::python
