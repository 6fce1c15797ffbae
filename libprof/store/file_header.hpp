// The header of a database file, as defined by SQLite's file format.
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

  std::int64_t page_size() const {
    const std::int64_t size = number(16, 2);
    return size == 1 ? 65'536 : size;
  }
  // Whether SQLite's defaults were used: a valid page size, no reserved bytes, UTF-8, the fixed
  // payload fractions, a known schema format.
  bool is_plain() const {
    const std::int64_t size = page_size(), layout = number(44, 4);
    return starts_with({"SQLite format 3\0", 16}) && size >= 512 && (size & (size - 1)) == 0 &&
           bytes[20] == 0 && bytes[21] == 64 && bytes[22] == 32 && bytes[23] == 32 && layout >= 1 &&
           layout <= 4 && number(56, 4) == 1;
  }

  // Whether the file has pointer-map pages (auto_vacuum).
  bool moves_pages() const { return number(52, 4) != 0; }

  // The minimum size of the file in bytes; 0 if the header does not say.
  std::int64_t file_size() const {
    const bool valid = number(24, 4) == number(92, 4);
    return valid ? page_size() * number(28, 4) : 0;
  }

 private:
  std::int64_t number(std::size_t at, std::size_t size) const {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + i];
    return value;
  }
};

}  // namespace gpuprof::store
