"""An addition touches one file: an activity kind that is GPU work is shown everywhere.

GPUPROF_SOURCE is the root of the sources.
"""
# ctest-labels: plain

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
FOLDERS = ("schema", "libprof", "apps")

# Kinds of GPU work that nvprof did not report: summary, trace, views, filters and excerpts include
# them, without naming any.
KINDS = {"GRAPH_TRACE": "GraphTrace", "MEM_DECOMPRESS": "MemDecompress"}
BLOCKS = "schema/activity/gpu_work.hpp"
# Reasons for naming a kind elsewhere.
REASONS = {
    "GRAPH_TRACE": {
        "schema/legacy.hpp": "nvprof has an index of the table",
        "libprof/collect/tracing.cpp": "graphs launched by kernels come with it",
        "libprof/exchange/import/nsys.cpp": "a table of Nsight Systems has its name",
        "libprof/exchange/export/nsys.cpp": "a table of Nsight Systems has its name",
        "libprof/exchange/export/nsys_tables.hpp": "a table of Nsight Systems has its name",
        "libprof/exchange/import/kineto.cpp": "traces of gpuprof name it otherwise",
        "libprof/report/session.cpp": "a graph counts once: as its nodes where they were recorded",
    },
    "MEM_DECOMPRESS": {"schema/serial_kernels.hpp": "spoils kernels that are traced serially"},
}


def files_that_name(kind, struct):
    word = re.compile(rf"(?<![A-Za-z_])(CUPTI_ACTIVITY_KIND_)?{kind}(?![A-Z_])|\b{struct}\b")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".hpp", ".sql", ".inc"):
                continue
            if word.search(path.read_text(encoding="utf-8")):
                yield path.relative_to(ROOT).as_posix()


class Newcomer(unittest.TestCase):
    def test_a_kind_of_gpu_work_is_one_file(self):
        for kind, struct in KINDS.items():
            with self.subTest(kind=kind):
                self.assertEqual(
                    set(files_that_name(kind, struct)), {BLOCKS, *REASONS.get(kind, {})}
                )


if __name__ == "__main__":
    unittest.main()
