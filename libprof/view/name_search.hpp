// Names by a part of them, or by a regular expression.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "libprof/view/model.hpp"

namespace gpuprof::view {

// By name, whether it has `wanted` in it, in any case of letters; or whether "/expression/" is
// found in it, and of "/expression/i" in any case. Throws Error (ExitCode::bad_option) for an
// expression that is none, or that takes longer than `most`, or some 50 ms of it in one name.
std::vector<bool> names_with(const std::vector<Name>& names, std::string_view wanted,
                             std::chrono::milliseconds most = std::chrono::milliseconds(500));

}  // namespace gpuprof::view
