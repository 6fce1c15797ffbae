// Names of files.
#pragma once

#include <string>

namespace gpuprof {

// The folder that a file of this name lies in.
std::string folder_of(const std::string& path);

// Whole, and without symbolic links in its folder; the file itself need not be there. As given
// where the folder cannot be found.
std::string resolved(const std::string& path);

}  // namespace gpuprof
