// UTF-8 in bytes that may be anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// Of a text that is not empty.
Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// Each byte that is no part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace gpuprof
