// A new file that is written from its beginning to its end.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::exporting {

// Throws gpuprof::Error (output_failed) when the disk is full. One thread.
class TextFile {
 public:
  // `name`: as messages call it.
  TextFile(const std::string& path, std::string name);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  TextFile& operator<<(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= block) write();
    return *this;
  }
  TextFile& operator<<(const char* text) { return *this << std::string_view(text); }
  template <std::integral Number>
  TextFile& operator<<(Number number) {
    std::array<char, 24> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), end);
  }
  // All of it is with the system.
  void finish();

 private:
  static constexpr std::size_t block = 1 << 18;
  void write();

  std::string name_;
  std::string waiting_;
  int file_;
};

// "\"text\"" with JSON's escapes. Bytes that are no UTF-8 become U+FFFD.
std::string in_json(std::string_view text);

}  // namespace gpuprof::exporting
