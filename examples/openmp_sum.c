// Parallel regions of OpenMP in a program that uses CUDA.
//
//   clang -O2 -fopenmp openmp_sum.c -ldl -o openmp_sum
//   gpuprof --openmp-profiling on -o run.sqlite ./openmp_sum [rounds]
//
// Requires a runtime with OMPT: LLVM's libomp has it, GCC's libgomp does not. Prints "ok" and exits
// with 0 if the sums are right. Default: 3 rounds of four threads.
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 1 << 20 };
static double x[count];

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*start)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : 0;
  if (!start || start(0) != 0) {
    fputs("openmp_sum: no CUDA driver (libcuda.so.1)\n", stderr);
    return 77;
  }
  omp_set_num_threads(4);
  double sum = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for
    for (int i = 0; i < count; ++i) x[i] = round + 1;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; ++i) sum += x[i];
#pragma omp parallel
    {
#pragma omp barrier
    }
  }
  const int right = sum == count * (rounds * (rounds + 1) / 2.0);
  puts(right ? "ok" : "wrong");
  return right ? 0 : 1;
}
