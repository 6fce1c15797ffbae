#include "libprof/base/text.hpp"

#include <algorithm>
#include <cstdio>

#include "libprof/base/letter_case.hpp"

namespace gpuprof {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t end = std::min(text.find(at, from), text.size());
    parts.emplace_back(text.substr(from, end - from));
    if (end == text.size()) return parts;
    from = end + 1;
  }
}

std::string alternatives(const std::vector<std::string>& words) {
  if (words.size() < 2) return joined(words, "");
  return joined(std::vector<std::string>(words.begin(), words.end() - 1), ", ") + " or " +
         words.back();
}

std::string hexadecimal(std::int64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string double_quoted(std::string_view text) {
  return '"' + replaced_all(std::string(text), "\"", "\"\"") + '"';
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return lower(c); });
  return result;
}

std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && continues_character(text[most])) --most;
  return text.substr(0, most);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, std::not_fn(continues_character)));
}

std::string without_middle(std::string_view text, std::size_t head, std::size_t tail,
                           std::string_view gap) {
  std::size_t end = text.size() - tail;
  while (head > 0 && continues_character(text[head])) --head;
  while (end < text.size() && continues_character(text[end])) ++end;
  return std::string(text.substr(0, head)).append(gap).append(text.substr(end));
}

std::string replaced_all(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

}  // namespace gpuprof
