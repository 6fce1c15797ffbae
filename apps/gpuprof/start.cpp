// bin/gpuprof: everything is in libgpuprof.so, which is opened by path, so that LD_LIBRARY_PATH
// cannot substitute another.
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "libprof/base/exit_codes.hpp"

int main(int argc, char** argv) {
  char path[PATH_MAX + 64] = "";
  constexpr char library_name[] = "/../" GPUPROF_LIBDIR "/libgpuprof.so";
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  char* const last = length > 0 ? std::strrchr(path, '/') : nullptr;
  if (last) std::memcpy(last, library_name, sizeof library_name);
  void* library = last ? dlopen(path, RTLD_NOW) : nullptr;
  void* start = library ? dlsym(library, "gpuprof_main") : nullptr;
  if (!start) {
    std::fprintf(stderr, "gpuprof: %s\n  install gpuprof again\n",
                 last ? dlerror() : "/proc is not there, and the program does not find itself");
    return static_cast<int>(gpuprof::ExitCode::internal);
  }
  return reinterpret_cast<int (*)(int, char**)>(start)(argc, argv);
}
