// Finds the line of an instruction of a Python function, using the location table of its code
// (co_linetable of Python 3.11 and newer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof::python {

// The table is passed in pieces, until the line is known or the table ends.
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

}  // namespace gpuprof::python
