// Texts in records of a fixed size, padded with zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace gpuprof {

// The text ends at the first zero, or with the array.
template <std::size_t size>
std::string_view unpadded(const std::array<char, size>& text) {
  return {text.data(), strnlen(text.data(), size)};
}

}  // namespace gpuprof
