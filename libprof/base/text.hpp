// Words and lists of words.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpuprof {

// "a,,b" at ',': "a", "", "b". An empty text yields one empty part.
std::vector<std::string> split(std::string_view text, char at);

// text_of(word): a text or a whole number.
template <std::ranges::input_range Words, class TextOf = std::identity>
std::string joined(const Words& words, std::string_view between, const TextOf& text_of = {}) {
  std::string text;
  bool first = true;
  for (const auto& word : words) {
    if (!first) text += between;
    first = false;
    const auto& each = std::invoke(text_of, word);
    if constexpr (std::integral<std::remove_cvref_t<decltype(each)>>) {
      text += std::to_string(each);
    } else {
      text += each;
    }
  }
  return text;
}

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// "1 record", "2 records"
std::string count_of(std::integral auto number, std::string_view what) {
  return std::to_string(number).append(" ").append(what).append(number == 1 ? "" : "s");
}

// "0x1c40"
std::string hexadecimal(std::int64_t number);

// In double quotes, with inner ones doubled, as SQL quotes names and CSV quotes fields.
std::string double_quoted(std::string_view text);

// Without leading and trailing blanks.
std::string_view trimmed(std::string_view text);

// ASCII letters only, as SQLite compares names.
std::string lower(std::string_view text);

// The number that the whole text is. nullopt: it is not a number, or does not fit.
template <class Number>
std::optional<Number> parse(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::integral<Number>) {
    read = std::from_chars(text.data(), end, number, base);
  } else {
    read = std::from_chars(text.data(), end, number);
  }
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// Whether the byte continues a UTF-8 character.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// At most `most` bytes, and no part of a UTF-8 character at the end.
std::string_view beginning_of(std::string_view text, std::size_t most);

// The number of UTF-8 characters.
std::size_t characters(std::string_view text);

// Up to `head` bytes of the beginning and `tail` bytes of the end, cut between characters, with
// `gap` for what is left out.
std::string without_middle(std::string_view text, std::size_t head, std::size_t tail,
                           std::string_view gap);

std::string replaced_all(std::string text, std::string_view what, std::string_view by);

}  // namespace gpuprof
