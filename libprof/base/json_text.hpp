// JSON as text.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/base/printable.hpp"

namespace gpuprof {

// Serializes any nlohmann::json, indented by `indent` columns, or on one line if negative. Strings
// may come from untrusted files: bytes that are not UTF-8 become U+FFFD, where dump() would throw.
template <typename Json = nlohmann::json>
std::string json_text(const Json& document, int indent = -1, bool ascii = false) {
  return document.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// json_text() for a string, which may be printed to a terminal: if a character could control it,
// the string is all ASCII.
inline std::string json_string(std::string_view text) {
  // Most strings, a million in an export, need no escapes.
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) return '"' + std::string(text) + '"';
  std::string quoted = json_text(nlohmann::json(text));
  return printable(quoted) == quoted ? quoted : json_text(nlohmann::json(text), -1, true);
}

}  // namespace gpuprof
