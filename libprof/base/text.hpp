// Words and lists of them.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// "a,,b" at ',': "a", "", "b". Of nothing one empty part.
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

// In double quotes, with those in it doubled, as SQL has names and CSV has fields.
std::string double_quoted(std::string_view text);

// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

// Letters of ASCII only, as SQLite compares names.
std::string lower(std::string_view text);

// Whether the byte goes on with a character of UTF-8 that began before it.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

std::string replaced_all(std::string text, std::string_view what, std::string_view by);

}  // namespace gpuprof
