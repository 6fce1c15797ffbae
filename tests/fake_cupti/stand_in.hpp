// The stand-in libcupti as a test calls it: a copy of the file for each object, so that each reads
// the environment anew.
#pragma once

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Environment = std::vector<std::pair<std::string, std::string>>;

class StandIn {
 public:
  // The variables are set for as long as the object lives.
  explicit StandIn(Environment environment = {}) : environment_(std::move(environment)) {
    for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
    std::string folder = std::filesystem::temp_directory_path() / "fake_cupti_XXXXXX";
    if (!mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
    const std::string copy = folder + "/libcupti.so";
    std::filesystem::copy_file(GPUPROF_BUILD_DIR "/tests/fake/libcupti.so.13", copy);
    library_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove_all(folder);
    if (!library_) throw std::runtime_error(dlerror());
  }
  ~StandIn() {
    for (const auto& [name, value] : environment_) unsetenv(name.c_str());
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  template <class Function>
  Function* function(const char* name) const {
    void* found = dlsym(library_, name);
    if (!found) throw std::runtime_error(std::string(name) + " is not there");
    return reinterpret_cast<Function*>(found);
  }

 private:
  Environment environment_;
  void* library_ = nullptr;  // stays mapped: it may have threads
};

// CUPTI's function `name` of the stand-in `cupti`.
#define CUPTI(name) cupti.function<decltype(::name)>(#name)

// A parameter struct with its size, and what else is given.
#define PARAMS(type, name) \
  type name{};             \
  name.structSize = type##_STRUCT_SIZE

// The host side for one chip.
class Host {
 public:
  Host(const StandIn& stand_in, const char* chip) : cupti(stand_in) {
    PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip;
    result = CUPTI(cuptiProfilerHostInitialize)(&params);
    object = params.pHostObject;
  }

  ~Host() {
    if (!object) return;
    PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
    params.pHostObject = object;
    CUPTI(cuptiProfilerHostDeinitialize)(&params);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  CUptiResult add(std::vector<const char*> names) const {
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, params);
    params.pHostObject = object;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    return CUPTI(cuptiProfilerHostConfigAddMetrics)(&params);
  }

  // Empty: it cannot be had.
  std::vector<std::uint8_t> config() const {
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = object;
    if (CUPTI(cuptiProfilerHostGetConfigImageSize)(&size) != CUPTI_SUCCESS) return {};
    std::vector<std::uint8_t> image(size.configImageSize);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, params);
    params.pHostObject = object;
    params.configImageSize = image.size();
    params.pConfigImage = image.data();
    REQUIRE(CUPTI(cuptiProfilerHostGetConfigImage)(&params) == CUPTI_SUCCESS);
    return image;
  }

  // 0: the image is none.
  std::size_t passes() const {
    auto image = config();
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, params);
    params.configImageSize = image.size();
    params.pConfigImage = image.data();
    return CUPTI(cuptiProfilerHostGetNumOfPasses)(&params) == CUPTI_SUCCESS ? params.numOfPasses
                                                                            : 0;
  }

  const StandIn& cupti;
  CUptiResult result{};
  CUpti_Profiler_Host_Object* object = nullptr;
};
