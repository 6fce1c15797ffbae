"""`python -m gpuprof_cuda` runs the program gpuprof: in the same process, with its exit code and signals."""

import os
import sys

from ._library import Error, program

try:
    os.execv(program(), ["gpuprof", *sys.argv[1:]])
except (Error, ImportError, OSError) as error:
    sys.exit(f"gpuprof: {error}")
