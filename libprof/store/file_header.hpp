// The beginning of a database file, as SQLite's file format has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gpuprof::store {

struct FileHeader {
  std::array<unsigned char, 100> bytes{};

  bool starts_with(std::string_view text) const {
    return std::memcmp(bytes.data(), text.data(), text.size()) == 0;
  }
  bool in_log_mode() const { return bytes[18] == 2 || bytes[19] == 2; }

  // What the file should have at least, in bytes; 0: the header does not tell.
  std::int64_t file_size() const {
    const std::int64_t page = number(16, 2) == 1 ? 65'536 : number(16, 2);
    const bool valid = number(24, 4) == number(92, 4);
    return valid ? page * number(28, 4) : 0;
  }

 private:
  std::int64_t number(std::size_t at, std::size_t size) const {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + i];
    return value;
  }
};

}  // namespace gpuprof::store
