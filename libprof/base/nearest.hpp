// Suggestions for a wrong name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// The number of insertions, deletions, replacements and swaps of neighbours that turn one into the
// other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names`, best first, at most `most`; none that has little in common with `wrong`.
// If none is near: those that contain `wrong`, shortest first.
std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names,
                                 std::size_t most = 3);

}  // namespace gpuprof
