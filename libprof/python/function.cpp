#include "libprof/python/function.hpp"

#include "libprof/base/word_hash.hpp"

namespace gpuprof::python {
namespace {

template <std::size_t size>
std::uint64_t hash_of(std::uint64_t hash, const std::array<char, size>& text) {
  for (std::size_t i = 0; i < size; i += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    if (word == 0) break;  // the rest is zeros
    hash = word_hash(hash, word);
  }
  return word_hash(hash, 0);
}

}  // namespace

std::size_t utf8(std::uint32_t c, char* to) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  const auto tail = [c](unsigned shift) { return static_cast<char>(0x80 | ((c >> shift) & 63)); };
  if (c < 0x80) {
    to[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    to[0] = static_cast<char>(0xc0 | (c >> 6));
    to[1] = tail(0);
    return 2;
  }
  if (c < 0x10000) {
    to[0] = static_cast<char>(0xe0 | (c >> 12));
    to[1] = tail(6);
    to[2] = tail(0);
    return 3;
  }
  to[0] = static_cast<char>(0xf0 | (c >> 18));
  to[1] = tail(12);
  to[2] = tail(6);
  to[3] = tail(0);
  return 4;
}

std::uint64_t id_of(const PythonFrame& frame) {
  return std::max<std::uint64_t>(hash_of(hash_of(frame.line, frame.file), frame.function), 1);
}

std::uint64_t identity_of(const PythonLayout& layout, std::span<const std::byte> head) {
  const auto& at = layout.code;
  const auto word = [&](std::uint64_t offset) { return field<std::uint64_t>(head, offset); };
  const std::uint64_t lines =
      word_hash(word_hash(word(at.file), word(at.function)), word(at.lines));
  return word_hash(lines, std::uint64_t{field<std::uint32_t>(head, at.first_line)} << 32 |
                              (at.version == 0 ? 0 : field<std::uint32_t>(head, at.version)));
}

}  // namespace gpuprof::python
