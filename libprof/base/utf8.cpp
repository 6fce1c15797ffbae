#include "libprof/base/utf8.hpp"

#include <algorithm>

namespace gpuprof {

Character first_character(std::string_view text) {
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

bool is_utf8(std::string_view text) {
  while (true) {
    const auto odd = std::ranges::find_if(text, [](char c) { return (c & 0x80) != 0; });
    text.remove_prefix(static_cast<std::size_t>(odd - text.begin()));
    if (text.empty()) return true;
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
}

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    valid += bytes == 0 ? "\xef\xbf\xbd" : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return valid;
}

}  // namespace gpuprof
