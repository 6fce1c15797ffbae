// Searches names for a substring or a regular expression.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

// For each name: whether it contains `wanted`, ignoring case; or whether the regular expression
// "/expression/" is found in it, with "/expression/i" ignoring case. Throws Error
// (ExitCode::bad_option) if the expression is invalid, or takes longer than `most` in total or
// about 50 ms for one name.
std::vector<bool> names_with(const std::vector<Name>& names, std::string_view wanted,
                             std::chrono::milliseconds most = std::chrono::milliseconds(500));

}  // namespace gpuprof::view
