// Compiles a kernel at run time and launches it using only the driver API.
//
//   nvrtc [launches]
//
// Prints "ok" and exits with 0 if the sums are right. Default: 20 launches; one copy of 4 KiB in
// and one out. Without libnvrtc, which is part of the CUDA Toolkit, it says so and exits with 77.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

const char source[] = R"(
extern "C" __global__ void compiled_at_run_time(const int* step, int* sum, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] += step[i];
})";

// Neither library is linked: the program starts without NVRTC and builds without a driver.
void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW)) return library;
  }
  return nullptr;
}

template <typename Function>
Function* find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  if (!function) {
    std::fprintf(stderr, "nvrtc: no function %s\n", name);
    std::exit(1);
  }
  return function;
}

void check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "nvrtc: %s: error %d\n", what, error);
  std::exit(1);
}

std::string compile(void* nvrtc, int major, int minor) {
  using Program = void*;
  Program program = nullptr;
  check(find<int(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
            nvrtc, "nvrtcCreateProgram")(&program, source, "example.cu", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const char* options[] = {arch.c_str()};
  check(find<int(Program, int, const char* const*)>(nvrtc, "nvrtcCompileProgram")(program, 1,
                                                                                  options),
        "nvrtcCompileProgram");
  std::size_t size = 0;
  check(find<int(Program, std::size_t*)>(nvrtc, "nvrtcGetCUBINSize")(program, &size),
        "nvrtcGetCUBINSize");
  std::string cubin(size, '\0');
  check(find<int(Program, char*)>(nvrtc, "nvrtcGetCUBIN")(program, cubin.data()), "nvrtcGetCUBIN");
  check(find<int(Program*)>(nvrtc, "nvrtcDestroyProgram")(&program), "nvrtcDestroyProgram");
  return cubin;
}

}  // namespace

// A driver function, looked up by the name under which the library exports it.
#define DRIVER(name, exported) find<decltype(::name)>(driver, exported)
#define CALL(name, exported, ...) check(DRIVER(name, exported)(__VA_ARGS__), #name)

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 20;
  void* driver = open_first({"libcuda.so.1"});
  void* nvrtc = open_first(
      {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  if (!driver || !nvrtc) {
    std::fprintf(stderr, "nvrtc: skipped, there is no %s\n", driver ? "libnvrtc" : "libcuda.so.1");
    return 77;
  }

  CUdevice device;
  CUcontext context;
  int major, minor;
  CALL(cuInit, "cuInit", 0);
  CALL(cuDeviceGet, "cuDeviceGet", &device, 0);
  CALL(cuDeviceGetAttribute, "cuDeviceGetAttribute", &major,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  CALL(cuDeviceGetAttribute, "cuDeviceGetAttribute", &minor,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  CALL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &context, device);
  CALL(cuCtxSetCurrent, "cuCtxSetCurrent", context);

  CUmodule module;
  CUfunction kernel;
  const std::string cubin = compile(nvrtc, major, minor);
  CALL(cuModuleLoadData, "cuModuleLoadData", &module, cubin.data());
  CALL(cuModuleGetFunction, "cuModuleGetFunction", &kernel, module, "compiled_at_run_time");

  int count = 1024;
  const std::size_t bytes = count * sizeof(int);
  std::vector<int> step(count), sum(count);
  for (int i = 0; i < count; ++i) step[i] = i;
  CUdeviceptr device_step, device_sum;
  CALL(cuMemAlloc, "cuMemAlloc_v2", &device_step, bytes);
  CALL(cuMemAlloc, "cuMemAlloc_v2", &device_sum, bytes);
  CALL(cuMemcpyHtoD, "cuMemcpyHtoD_v2", device_step, step.data(), bytes);
  CALL(cuMemsetD8, "cuMemsetD8_v2", device_sum, 0, bytes);
  for (int i = 0; i < launches; ++i) {
    void* arguments[] = {&device_step, &device_sum, &count};
    CALL(cuLaunchKernel, "cuLaunchKernel", kernel, count / 256, 1, 1, 256, 1, 1, 0, nullptr,
         arguments, nullptr);
  }
  CALL(cuCtxSynchronize, "cuCtxSynchronize");
  CALL(cuMemcpyDtoH, "cuMemcpyDtoH_v2", sum.data(), device_sum, bytes);
  CALL(cuMemFree, "cuMemFree_v2", device_step);
  CALL(cuMemFree, "cuMemFree_v2", device_sum);
  CALL(cuModuleUnload, "cuModuleUnload", module);
  CALL(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", device);

  for (int i = 0; i < count; ++i) {
    if (sum[i] != launches * i) {
      std::fprintf(stderr, "nvrtc: sum[%d] is %d, not %d\n", i, sum[i], launches * i);
      return 1;
    }
  }
  std::puts("ok");
  return 0;
}
