#include "libprof/base/printable.hpp"

#include <algorithm>

#include "libprof/base/utf8.hpp"

namespace gpuprof {
namespace {

bool steers(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool plain(char c) { return c >= 0x20 && c < 0x7f; }

void append(std::string& to, std::string_view text, bool keep_line_ends) {
  while (!text.empty()) {
    const auto odd = std::ranges::find_if_not(text, plain);
    const auto length = static_cast<std::size_t>(odd - text.begin());
    to += text.substr(0, length);
    text.remove_prefix(length);
    if (text.empty()) return;
    const Character first = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(first.bytes, 1);
    const bool bad =
        first.bytes == 0 || (steers(first.code) && !(keep_line_ends && first.code == '\n'));
    for (const char c : text.substr(0, bytes)) {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto value = static_cast<unsigned char>(c);
      bad ? to.append("\\x").append(1, digits[value >> 4]).append(1, digits[value & 15])
          : to.append(1, c);
    }
    text.remove_prefix(bytes);
  }
}

}  // namespace

void append_printable(std::string& to, std::string_view text) { append(to, text, false); }

std::string printable(std::string_view text) {
  std::string result;
  append(result, text, false);
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  append(result, text, true);
  return result;
}

}  // namespace gpuprof
