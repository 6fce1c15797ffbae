# ctest-labels: plain
"""gpuprof.profiler_host; and its names and those of pm_sampling compared with cupti-python's."""

import ast
import math
import re
import sys
import unittest

from fake_counters import ACTIVE_NAME, READ_NAME, SOURCE, Program

# cupti-python as published; scripts/setup installs it. It is parsed and never executed.
THEIRS = SOURCE / ".tools" / "cupti_python" / "cupti"
OURS = SOURCE / "apps" / "python" / "gpuprof_cuda"


class Host(Program):
    def test_module_functions(self):
        answer = self.ran(
            """
            h = profiler_host
            PM, RANGE = h.ProfilerType.PM_SAMPLING, h.ProfilerType.RANGE_PROFILER
            answer = [h.get_supported_chips(), h.get_single_pass_sets("FAKE1"),
                h.get_metrics_in_single_pass_set("FAKE1", "Memory"),
                h.get_max_num_hardware_metrics_per_pass("FAKE1", PM),
                h.get_max_num_hardware_metrics_per_pass("FAKE1", RANGE)]
            wrong = [refused(h.get_single_pass_sets, "GV9"), refused(h.get_metrics_in_single_pass_set, "GV9", "x"),
                refused(h.get_metrics_in_single_pass_set, "FAKE1", "x"),
                refused(h.get_max_num_hardware_metrics_per_pass, "GV9", PM),
                refused(h.get_max_num_hardware_metrics_per_pass, "FAKE1", 7),
                refused(h.get_max_num_hardware_metrics_per_pass, "FAKE1", h.ProfilerType.PROFILER_INVALID),
                refused(h.get_num_of_passes, __import__("numpy").zeros(0, "uint8")),
                refused(h.get_num_of_passes, __import__("numpy").zeros(64, "uint8"))]
            answer.append(wrong)
            """
        )
        self.assertEqual(answer[:5], [["FAKE1", "FAKE2"], ["Memory", "Compute"],
                                      ["dram__bytes_read", "dram__bytes_write"], 8, 16])  # fmt: skip
        for each in answer[5]:
            self.assert_refused(each, "ValueError", "")
        self.assertIn("it knows FAKE1 FAKE2", answer[5][0]["text"])

    def test_a_host(self):
        answer = self.ran(
            """
            h = profiler_host
            host = h.ProfilerHost("FAKE1", h.ProfilerType.PM_SAMPLING)
            before = [refused(call, *a) for call, *a in (
                (host.create_config_image, [READ]), (host.get_base_metrics, 0), (host.get_sub_metrics, "x", 0),
                (host.get_metric_properties, "x"), (host.evaluate_metric_values, b"", [READ], 0))]
            host.deinitialize()
            host.initialize()
            image = host.create_config_image([READ, ACTIVE])
            p = host.get_metric_properties(READ)
            answer = [before, str(image.dtype), h.get_num_of_passes(image), host.passes(FIVE),
                "dram__bytes_read" in host.get_base_metrics(h.MetricType.COUNTER),
                "sm__throughput" in host.get_base_metrics(h.MetricType.THROUGHPUT),
                ".sum" in host.get_sub_metrics("dram__bytes_read", h.MetricType.COUNTER),
                [p.description, p.hw_unit, p.dim_unit, p.metric_type.name, p.metric_collection_scope.name],
                [refused(call, *a) for call, *a in (
                    (host.create_config_image, ["nonsense.sum"]), (host.create_config_image, []),
                    (host.get_base_metrics, 9), (host.get_sub_metrics, "nonsense", 0),
                    (host.get_metric_properties, "nonsense"),
                    (host.evaluate_metric_values, image, ["nonsense.sum"], 0))],
                refused(host.evaluate_metric_values, image, [READ], 0)]
            host.deinitialize()
            answer.append(refused(host.get_base_metrics, 0))
            host.initialize()
            answer.append(len(host.get_base_metrics(0)) > 0)
            """
        )
        for each in [*answer[0], answer[10]]:
            self.assert_refused(each, "RuntimeError", "initialize()")
        self.assertEqual(answer[1:7], ["uint8", 1, 2, True, True, True])
        self.assertEqual(
            answer[7], ["bytes read from DRAM", "dram", "byte/second", "COUNTER", "CONTEXT"]
        )
        for each in answer[8]:
            self.assert_refused(each, "ValueError", "")
        self.assert_refused(answer[9], "RuntimeError", "counter data image")
        self.assertTrue(answer[11])

    def test_wrong_hosts(self):
        answer = self.ran(
            """
            h = profiler_host
            answer = [refused(h.ProfilerHost, "FAKE1", 7),
                      refused(h.ProfilerHost("GV9", h.ProfilerType.PM_SAMPLING).initialize),
                      refused(h.ProfilerHost("FAKE1", h.ProfilerType.PM_SAMPLING, "x").initialize)]
            """
        )
        for each, text in zip(
            answer, ("7 is not a ProfilerType", "no chip GV9", "no single-pass set x")
        ):
            self.assert_refused(each, "ValueError", text)

    def test_names_as_c_has_them(self):
        """An array and its address, which programs for cupti-python pass to CUPTI."""
        answer = self.ran(
            """
            import ctypes
            array, address = pm_sampling.metrics_to_c_array([READ, ACTIVE])
            read = (ctypes.c_char_p * 2).from_address(address)
            answer = [each.decode() for each in [*array, *read]]
            """
        )
        self.assertEqual(answer, [READ_NAME, ACTIVE_NAME] * 2)

    def test_a_host_needs_no_driver(self):
        chips = self.ran("answer = profiler_host.get_supported_chips()", LD_LIBRARY_PATH="")
        self.assertEqual(chips, ["FAKE1", "FAKE2"])


def described(tree):
    """Public functions and methods by name: parameters with their defaults as written."""

    def written(default):
        """Arithmetic of numbers as its result: 512 * 1024 * 1024."""
        text = ast.unparse(default)
        numbers = re.fullmatch(r"[\d_]+( \* [\d_]+)*", text)
        return str(math.prod(map(int, text.split(" * ")))) if numbers else text

    def of(function):
        a = function.args
        positional = [each.arg for each in a.posonlyargs + a.args]
        defaults = dict(zip(positional[len(positional) - len(a.defaults) :], a.defaults))
        defaults.update({k.arg: d for k, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None})
        names = [(each, "positional") for each in positional]
        names += [(each.arg, "keyword") for each in a.kwonlyargs]
        return [
            (name, kind, written(defaults[name]) if name in defaults else "")
            for name, kind in names
        ]

    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = of(node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found[node.name] = [
                each.target.id for each in node.body if isinstance(each, ast.AnnAssign)
            ]
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    if not method.name.startswith("_") or method.name.startswith("__"):
                        found[f"{node.name}.{method.name}"] = of(method)
    return found


@unittest.skipUnless(THEIRS.exists(), "there is no cupti-python: scripts/setup gets it")
class Names(unittest.TestCase):
    """Every public name, parameter and default of cupti-python's two modules is there and the same.
    Ours may have more parameters at the end, each with a default."""

    def test_modules(self):
        for module in ("pm_sampling", "profiler_host"):
            theirs = described(ast.parse((THEIRS / f"{module}.py").read_text(encoding="utf-8")))
            ours = {}
            for file in (f"{module}.py", "_counter_data.py"):
                ours.update(described(ast.parse((OURS / file).read_text(encoding="utf-8"))))
            self.assertGreater(len(theirs), 5)
            for name, should in theirs.items():
                with self.subTest(module=module, name=name):
                    self.assertIn(name, ours)
                    self.assertEqual(ours[name][: len(should)], should)
                    for more in ours[name][len(should) :]:
                        self.assertNotEqual(more[2], "", name)

    def test_names_that_they_import(self):
        sys.path.insert(0, str(OURS.parent))
        from gpuprof import pm_sampling, profiler_host

        for module in (pm_sampling, profiler_host):
            name = module.__name__.rpartition(".")[2]
            tree = ast.parse((THEIRS / f"{name}.py").read_text(encoding="utf-8"))
            names = []
            for node in tree.body:
                if isinstance(node, ast.Assign):
                    names += [target.id for target in node.targets if target.id != "F"]
                elif isinstance(node, ast.ImportFrom) and node.module.startswith("cupti"):
                    names += [each.asname or each.name for each in node.names]
            self.assertGreater(len(names), 3)
            self.assertEqual([each for each in names if not hasattr(module, each)], [])


if __name__ == "__main__":
    unittest.main()
