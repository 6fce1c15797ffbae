#include "libprof/exchange/import/mended_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "libprof/base/utf8.hpp"

namespace gpuprof::importing {
namespace {

// A longer word is left to the parser.
constexpr std::size_t longest_looked_at = 512;
constexpr std::size_t escape_size = 6;  // "\u0041"
constexpr std::size_t longest_character = 4;

constexpr bool is_of_word(char c) {
  return c != ',' && c != ':' && c != '{' && c != '}' && c != '[' && c != ']' && c != '"' &&
         c != ' ' && c != '\n' && c != '\t' && c != '\r';
}

// Within a string: does not end it and needs no checking.
constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// "\ud800" -> 0xd800.
std::optional<unsigned> escaped_code(std::string_view text) {
  unsigned code = 0;
  const char* const end = text.data() + escape_size;
  if (text.size() < escape_size || !text.starts_with("\\u")) return std::nullopt;
  if (std::from_chars(text.data() + 2, end, code, 16).ptr != end) return std::nullopt;
  return code;
}

constexpr bool is_high(unsigned code) { return code >= 0xd800 && code < 0xdc00; }
constexpr bool is_low(unsigned code) { return code >= 0xdc00 && code < 0xe000; }

// A number that others write but JSON does not have, or one too large for a double.
bool is_no_number(std::string_view word) {
  constexpr std::array<std::string_view, 4> names{"NaN", "Infinity", "nan", "inf"};
  const std::string_view name = word.substr(word.starts_with('-') || word.starts_with('+'));
  if (std::ranges::find(names, name) != names.end()) return true;
  if (word.size() < 300 && word.find_first_of("eE") == word.npos) return false;
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [read_to, failed] = std::from_chars(word.data(), end, value);
  // out_of_range is also reported for values that are too small.
  return failed == std::errc::result_out_of_range && read_to == end &&
         std::isinf(std::strtod(std::string(word).c_str(), nullptr));
}

}  // namespace

void JsonMender::replace(std::span<char> bytes, std::string_view by) {
  std::ranges::copy(by, bytes.begin());
  texts_ += !counted_;
  counted_ = true;
}

// Mends text that begins inside a string; returns how much is done.
std::size_t JsonMender::quoted(std::span<char> text, bool last) {
  const std::string_view view(text.data(), text.size());
  const auto first = std::ranges::find_if_not(view, is_plain);
  auto at = static_cast<std::size_t>(first - view.begin());
  if (at > 0) return at;
  const char c = view[0];
  if (c == '"') {
    quoted_ = false;
    return 1;
  }
  if (c == '\\') {
    if (view.size() < 2 * escape_size && !last) return 0;
    const auto code = escaped_code(view);
    if (!code) return std::min<std::size_t>(2, view.size());
    if (is_high(*code) && is_low(escaped_code(view.substr(escape_size)).value_or(0))) {
      return 2 * escape_size;
    }
    if (is_high(*code) || is_low(*code)) replace(text, "\\ufffd");
    return escape_size;
  }
  const bool control = c >= 0 && c < 0x20;
  const std::size_t bytes = control ? 0 : first_character(view).bytes;
  if (bytes > 0) return bytes;
  if (!control && view.size() < longest_character && !last) return 0;
  replace(text, control ? " " : "?");
  return 1;
}

// The same for text that begins outside.
std::size_t JsonMender::bare(std::span<char> text, bool last) {
  const std::string_view view(text.data(), text.size());
  const auto size =
      static_cast<std::size_t>(std::ranges::find_if_not(view, is_of_word) - view.begin());
  if (size == 0) {
    word_ = false;
    length_ = 0;
    quoted_ = view[0] == '"';
    counted_ = false;
    return 1;
  }
  const bool ends = size < view.size() || last;
  if (!ends && !word_ && size < longest_looked_at) return 0;
  word_ |= !ends || size >= longest_looked_at;
  if (!word_ && is_no_number(view.substr(0, size))) {
    std::ranges::fill(text.first(size), ' ');
    text[0] = text[1] = '"';
  }
  return size;
}

std::size_t JsonMender::mend(std::span<char> text, bool last) {
  std::size_t done = 0;
  while (done < text.size() && !too_long_) {
    const std::span<char> rest = text.subspan(done);
    const bool in_quotes = quoted_;
    const std::size_t size = in_quotes ? quoted(rest, last) : bare(rest, last);
    if (size == 0) break;
    done += size;
    if (in_quotes || word_) count(size);
  }
  return done;
}

}  // namespace gpuprof::importing
