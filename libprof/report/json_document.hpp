// The JSON document of reports and queries, docs/json.md.
#pragma once

#include <string_view>

namespace gpuprof::report {

// The version goes up when a program that reads the document would misread it: a member gets
// another meaning, unit or type, or goes away. New members do not count.
inline constexpr std::string_view document_begin = "{\"version\":1,\"tables\":[";

}  // namespace gpuprof::report
