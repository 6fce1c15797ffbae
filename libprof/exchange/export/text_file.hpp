// A new file that is written sequentially.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof::exporting {

// Throws gpuprof::Error (output_failed) when the disk is full. Used by one thread.
class TextFile {
 public:
  // `name`: for messages. `gzip`: compresses the file, with this comment in its header; empty: not
  // compressed.
  TextFile(const std::string& path, std::string name, const char* gzip = "");
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
  // In JSON syntax, so that it reads back the same. Must be finite.
  TextFile& operator<<(double number) {
    std::array<char, 32> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), end);
  }
  // Hands everything to the system.
  void finish();

 private:
  static constexpr std::size_t block = 1 << 18;
  class Gzip;
  void write();
  void write_out(std::string_view bytes);

  std::string name_;
  std::string waiting_;
  int file_;
  std::unique_ptr<Gzip> gzip_;  // null: not compressed
};

}  // namespace gpuprof::exporting
