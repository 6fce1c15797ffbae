from gpuprof_cuda.profiler_host import *
