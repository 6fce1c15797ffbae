#include "libprof/cupti/one_kernel.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::cupti {
namespace {

// PTX, which the driver compiles for any GPU that is not older.
constexpr char kernel[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry gpuprof_doctor() { ret; }\n";

class Calls {
 public:
  Calls() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw Error(no_driver_library, "", ExitCode::no_driver);
  }

  template <class... Arguments>
  void operator()(const char* name, Arguments... arguments) const {
    const auto call = reinterpret_cast<CUresult (*)(Arguments...)>(dlsym(library_, name));
    const CUresult result = call ? call(arguments...) : CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS) return;
    throw Error(std::string(name) + " returns " + std::to_string(result), "",
                name == std::string("cuInit") ? ExitCode::no_driver : ExitCode::internal);
  }

 private:
  void* library_;
};

}  // namespace

void run_one_kernel() {
  const Calls call;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  call("cuInit", 0U);
  call("cuCtxCreate_v2", &context, 0U, CUdevice{0});
  call("cuModuleLoadData", &module, static_cast<const void*>(kernel));
  call("cuModuleGetFunction", &function, module, "gpuprof_doctor");
  call("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{nullptr},
       static_cast<void**>(nullptr), static_cast<void**>(nullptr));
  call("cuCtxSynchronize");
}

}  // namespace gpuprof::cupti
