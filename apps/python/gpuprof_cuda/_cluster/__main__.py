"""`python -m gpuprof_cuda._cluster` is gpuprof cluster."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
