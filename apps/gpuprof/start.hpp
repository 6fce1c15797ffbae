// The program, as libgpuprof.so has it.
#pragma once

extern "C" __attribute__((visibility("default"))) int gpuprof_main(int argc, char** argv);
