#include "libprof/cupti/api.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace gpuprof::cupti {

void* Api::symbol(const char* name) const { return library ? dlsym(library, name) : nullptr; }

#define GPUPROF_IS_THERE(name) name&&
bool Api::has_pc_sampling() const { return GPUPROF_CUPTI_PC_SAMPLING(GPUPROF_IS_THERE) true; }
bool Api::has_sass_metrics() const { return GPUPROF_CUPTI_SASS_METRICS(GPUPROF_IS_THERE) true; }
bool Api::has_range_profiling() const { return GPUPROF_CUPTI_RANGE(GPUPROF_IS_THERE) true; }
bool Api::has_pm_sampling() const { return GPUPROF_CUPTI_PM(GPUPROF_IS_THERE) true; }
bool Api::has_host_profiling() const { return GPUPROF_CUPTI_HOST(GPUPROF_IS_THERE) true; }
#undef GPUPROF_IS_THERE

bool open_for_host(const char* path, Api& api, std::string& error) {
  Api opened;
  // RTLD_LOCAL: the target may load another copy, whose symbols must take precedence for the
  // target.
  opened.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!opened.library) {
    const char* why = dlerror();
    error = why ? why : "cannot be loaded";
    return false;
  }
#define GPUPROF_LOOK_UP(name) \
  opened.name = reinterpret_cast<decltype(opened.name)>(dlsym(opened.library, #name));
  GPUPROF_CUPTI_REQUIRED(GPUPROF_LOOK_UP)
  GPUPROF_CUPTI_OPTIONAL(GPUPROF_LOOK_UP)
#undef GPUPROF_LOOK_UP
#define GPUPROF_INSIST(name)                      \
  if (!opened.name) {                             \
    error = std::string(path) + " has no " #name; \
    return false;                                 \
  }
  GPUPROF_CUPTI_REQUIRED(GPUPROF_INSIST)
#undef GPUPROF_INSIST

  Dl_info info{};
  opened.path = dladdr(reinterpret_cast<void*>(opened.cuptiGetVersion), &info) && info.dli_fname
                    ? info.dli_fname
                    : path;
  api = opened;
  return true;
}

bool open(const char* path, Api& api, std::string& error) {
  Api opened;
  if (!open_for_host(path, opened, error)) return false;
  // Without a driver CUPTI does not know its own version.
  if (const CUptiResult result = opened.cuptiGetVersion(&opened.version); result != CUPTI_SUCCESS) {
    error = std::string(path) + " does not start: " + explained(opened, result);
    return false;
  }
  if (opened.version < oldest_version) {
    error = std::string(path) + " is CUPTI API version " + std::to_string(opened.version) +
            "; 24 (CUDA 12.6) or newer is needed";
    return false;
  }
  api = opened;
  return true;
}

void load_perfworks(const Api& api) {
  const std::size_t folder = api.path.rfind('/');
  if (folder == api.path.npos) return;
  for (const char* name : {"/libnvperf_host.so", "/libnvperf_target.so"}) {
    dlopen((api.path.substr(0, folder) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

std::string mapped_copy() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        const char* name = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
        if (!name || std::strncmp(name + 1, "libcupti.so", 11) != 0) return 0;
        *static_cast<std::string*>(result) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

std::string explained(const Api& api, CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters; run as root or with "
             "CAP_SYS_ADMIN (docker run --cap-add=SYS_ADMIN), or load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the virtual GPU may not be profiled; its administrator can allow it "
             "(enable_profiling)";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another program is using the counters: DCGM (dcgmi profiling --pause), ncu, or "
             "another gpuprof";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "CUPTI does not profile this virtual GPU";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "CUPTI does not do that on a part of a GPU (MIG)";
    case CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS: return "CUPTI does not do that under MPS";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "CUPTI does not do that while confidential computing is on";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      return "CUPTI does not do that on a mining processor";
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED: return "CUPTI does not do that while SLI is on";
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED: return "CUPTI does not do that under WSL";
    default: {
      const char* text = nullptr;  // without a driver 13.2 and newer have none
      api.cuptiGetResultString(result, &text);
      return text ? text : "CUPTI's error " + std::to_string(result);
    }
  }
}

}  // namespace gpuprof::cupti
