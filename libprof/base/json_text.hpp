// A JSON document as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpuprof {

// Serializes any nlohmann::json, indented by `indent` columns, or on one line if negative. Strings
// may come from untrusted files: bytes that are not UTF-8 become U+FFFD, where dump() would throw.
template <typename Json = nlohmann::json>
std::string json_text(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuprof
