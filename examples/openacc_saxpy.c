// y = a x + y in OpenACC.
//
//   gcc -O2 -fopenacc -foffload=nvptx-none openacc_saxpy.c -o openacc_saxpy
//   gpuprof --openacc-profiling on -o run.sqlite ./openacc_saxpy [rounds]
//
// Requires gcc's offload compiler (Debian: gcc-12-offload-nvptx). Prints "ok" and exits with 0 if
// the sums are right. Default: 3 rounds.
#include <stdio.h>
#include <stdlib.h>

enum { count = 1 << 16 };
static float x[count], y[count];

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  for (int i = 0; i < count; ++i) x[i] = 1;
#pragma acc data copyin(x) copy(y)
  for (int round = 0; round < rounds; ++round) {
#pragma acc parallel loop
    for (int i = 0; i < count; ++i) y[i] += 2 * x[i];
  }
  for (int i = 0; i < count; ++i) {
    if (y[i] != 2 * rounds) {
      puts("wrong");
      return 1;
    }
  }
  puts("ok");
  return 0;
}
