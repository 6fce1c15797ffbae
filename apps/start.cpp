// Starts bin/gpuprof, gpuprof-sampler and gpuprof-probe, whose code is in libgpuprof.so: they share
// most of it. The library is opened by its path from the program's folder, GPUPROF_LIBRARY, so that
// LD_LIBRARY_PATH cannot substitute another. GPUPROF_MAIN is the program's function in it.
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "libprof/base/exit_codes.hpp"

int main(int argc, char** argv) {
  char path[PATH_MAX + 64] = "";
  constexpr char library_name[] = GPUPROF_LIBRARY;
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  char* const last = length > 0 ? std::strrchr(path, '/') : nullptr;
  if (last) std::memcpy(last, library_name, sizeof library_name);
  void* library = last ? dlopen(path, RTLD_NOW) : nullptr;
  void* start = library ? dlsym(library, GPUPROF_MAIN) : nullptr;
  if (!start) {
    std::fprintf(stderr, "gpuprof: %s\n  install gpuprof again\n",
                 last ? dlerror() : "/proc is not there, and the program does not find itself");
    return static_cast<int>(gpuprof::ExitCode::internal);
  }
  return reinterpret_cast<int (*)(int, char**)>(start)(argc, argv);
}
