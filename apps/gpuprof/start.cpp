// bin/gpuprof: all of it is in libgpuprof.so. That is opened by its place, so that no other is
// found by LD_LIBRARY_PATH.
#include <dlfcn.h>

#include <cstdio>

#include "libprof/base/exit_codes.hpp"

int main(int argc, char** argv) {
  // glibc puts the program's folder in place of $ORIGIN.
  void* library = dlopen("$ORIGIN/../" GPUPROF_LIBDIR "/libgpuprof.so", RTLD_NOW);
  void* start = library ? dlsym(library, "gpuprof_main") : nullptr;
  if (!start) {
    std::fprintf(stderr, "gpuprof: %s\n  install gpuprof again\n", dlerror());
    return static_cast<int>(gpuprof::ExitCode::internal);
  }
  return reinterpret_cast<int (*)(int, char**)>(start)(argc, argv);
}
