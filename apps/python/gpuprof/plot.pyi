from gpuprof_cuda.plot import *
