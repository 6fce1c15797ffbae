// UTF-8 in arbitrary bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// `text` must not be empty.
Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

// Each byte that is not part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace gpuprof
