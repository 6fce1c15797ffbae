#include "libprof/base/driver_library.hpp"

#include <dlfcn.h>

namespace gpuprof {

bool driver_found() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver) dlclose(driver);
  return driver;
}

}  // namespace gpuprof
