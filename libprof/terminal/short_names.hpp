// Names in a column of a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gpuprof::terminal {

// Each name printable and in at most `most` characters, which are at least 3, indexed like `names`.
// Long ones lose their middle; those that would then look alike show where they begin to differ
// instead.
std::vector<std::string> short_names(std::span<const std::string> names, std::size_t most,
                                     bool blocks);

}  // namespace gpuprof::terminal
