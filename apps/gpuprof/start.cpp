// bin/gpuprof: all of it is in libgpuprof.so.
#include "apps/gpuprof/start.hpp"

int main(int argc, char** argv) { return gpuprof_main(argc, argv); }
