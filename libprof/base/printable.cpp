#include "libprof/base/printable.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuprof {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < lowest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

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
    const Character first = first_of(text);
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
