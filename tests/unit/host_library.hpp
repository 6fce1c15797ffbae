// A libcupti that works without a driver, for tests of what it returns.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"

// Null if it is unavailable, which is reported.
inline std::shared_ptr<const gpuprof::cupti::HostLibrary> host_library() {
  const std::string path = GPUPROF_BUILD_DIR "/lib/gpuprof/host/libcupti.so.13";
  const char* sanitizer = std::getenv("GPUPROF_SANITIZE");
  if (sanitizer && *sanitizer) {
    WARN("left out: a sanitizer refuses CUPTI's dlopen with RTLD_DEEPBIND");
    return nullptr;
  }
  if (!std::filesystem::exists(path)) {
    WARN("left out: " << path << " is missing; scripts/setup gets it");
    return nullptr;
  }
  static const auto loaded =
      std::make_shared<const gpuprof::cupti::HostLibrary>(std::vector<std::string>{path});
  return loaded;
}
