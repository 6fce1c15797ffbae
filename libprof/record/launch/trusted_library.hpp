// Which of the libraries that a target names may be loaded on its behalf.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace gpuprof::launch {

struct TrustedLibrary {
  std::string path;     // the path to load; empty: none
  std::string problem;  // why there is none
};

// Salvage runs with the privileges that the target had when it connected. It may have dropped them
// since, so it must not choose what code gets them. A helper of `user` may load
// - one of `offered`, the paths that we passed to the collector, or
// - a file owned by root or that user, where nobody else can replace it.
TrustedLibrary trusted_library(const std::string& named, std::span<const std::string> offered,
                               uid_t user);

}  // namespace gpuprof::launch
