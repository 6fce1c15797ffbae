// File names.
#pragma once

#include <string>

namespace gpuprof {

// The folder that contains this file.
std::string folder_of(const std::string& path);

// Absolute, with symbolic links in the folder resolved; the file itself need not exist. Returned
// unchanged if the folder cannot be found.
std::string resolved(const std::string& path);

}  // namespace gpuprof
