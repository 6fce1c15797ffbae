from gpuprof_cuda.pm_sampling import *
