"""Marks tests of hostile input in files that test other things too."""

import os
import unittest

# The gate runs them with ASan: the portable build leaves them out, as it does whole files with the
# label "hostile".
hostile = unittest.skipIf(os.environ.get("GPUPROF_PORTABLE"), "runs with ASan")
