// The JSON document of reports and queries, see docs/json.md.
#pragma once

#include <string_view>

namespace gpuprof::report {

// Increase the version when existing readers would misread the document: a member changes its
// meaning, unit or type, or is removed. New members do not count.
inline constexpr std::string_view document_begin = "{\"version\":1,\"tables\":[";

}  // namespace gpuprof::report
