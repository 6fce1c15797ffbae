// Words and lists of words.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// "a,,b" at ',': "a", "", "b". An empty text yields one empty part.
std::vector<std::string> split(std::string_view text, char at);

template <std::ranges::input_range Words>
std::string joined(const Words& words, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& word : words) {
    if (!first) text += between;
    first = false;
    text += word;
  }
  return text;
}

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// In double quotes, with inner ones doubled, as SQL quotes names and CSV quotes fields.
std::string double_quoted(std::string_view text);

// Without leading and trailing blanks.
std::string_view trimmed(std::string_view text);

// ASCII letters only, as SQLite compares names.
std::string lower(std::string_view text);

// Whether the byte continues a UTF-8 character.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

std::string replaced_all(std::string text, std::string_view what, std::string_view by);

}  // namespace gpuprof
