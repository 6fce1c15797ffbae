// Which of the libraries that a target names may be loaded on its behalf.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace gpuprof::launch {

struct TrustedLibrary {
  std::string path;     // to be loaded; empty: none
  std::string problem;  // why none
};

// Salvage runs with the rights that the target had when it connected. It may have given them up
// since, so it is not to choose what code gets them. A helper of `user` may load
// - one of `offered`, the paths that we named to the collector, or
// - a file of root's, or of that user's, where nobody else can put another in its place.
TrustedLibrary trusted_library(const std::string& named, std::span<const std::string> offered,
                               uid_t user);

}  // namespace gpuprof::launch
