// Files where others may have put something that is not a regular file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "libprof/base/descriptor.hpp"

namespace gpuprof {

// For reading. Negative, with errno: it cannot be opened, or, with EINVAL, it is not a regular
// file. A pipe does not block, and a terminal does not become ours. `flags`: more of open(2)'s.
Descriptor open_regular(const std::string& path, int flags = 0);

// What follows in the file, at most `most` bytes of it. nullopt, with errno: it cannot be read.
std::optional<std::string> read_up_to(int file, std::size_t most);

// The same of the beginning of a regular file.
std::optional<std::string> read_beginning(const std::string& path, std::size_t most);

}  // namespace gpuprof
