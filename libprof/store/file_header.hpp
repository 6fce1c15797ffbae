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

  std::int64_t page_size() const {
    const std::int64_t size = number(16, 2);
    return size == 1 ? 65'536 : size;
  }
  // As SQLite makes files unless asked otherwise: pages of a size that there is and without bytes
  // set aside, texts in UTF-8, the fractions that the format has, a layout of rows that is known.
  bool is_plain() const {
    const std::int64_t size = page_size(), layout = number(44, 4);
    return starts_with({"SQLite format 3\0", 16}) && size >= 512 && (size & (size - 1)) == 0 &&
           bytes[20] == 0 && bytes[21] == 64 && bytes[22] == 32 && bytes[23] == 32 && layout >= 1 &&
           layout <= 4 && number(56, 4) == 1;
  }

  // Its pages are told where they belong (auto_vacuum).
  bool moves_pages() const { return number(52, 4) != 0; }

  // What the file should have at least, in bytes; 0: the header does not tell.
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
