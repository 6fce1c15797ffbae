#include "libprof/base/driver_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace gpuprof {

bool driver_found() { return !driver_file().empty(); }

std::string driver_file() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return {};
  link_map* map = nullptr;
  std::string file = "libcuda.so.1";
  if (dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 && map) file = map->l_name;
  dlclose(driver);
  return file;
}

}  // namespace gpuprof
