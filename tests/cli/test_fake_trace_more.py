# ctest-labels: plain
"""What else gpuprof.trace() records: PC samples, counts of instructions, memory. With stand-ins."""

import json
import unittest

from fake_trace import ScriptTest

PC_SAMPLES = 60  # per launch in the stand-in
WARPS = 64 * 256 // 32


class More(ScriptTest):
    def test_pc_samples_again_and_again(self):
        """Also in a context that existed before, and none of the launches in between."""
        self.run_script(
            f"""
            work(5)
            for i in range(4):
                with trace(f"run{{i}}.sqlite", pc_sampling=True) as t:
                    work(10 + i)
                work(7)
                samples = t.run.pc_samples.columns("samples").dicts()
                assert sum(row["samples"] for row in samples) == {PC_SAMPLES} * (10 + i), (i, t)
                assert len(t.run.kernels) == 10 + i
                assert "PC samples, nothing lost" in t.messages[-1], t.messages
            """
        )

    def test_modules_stay_known(self):
        """Their code is in each file, including those loaded in an earlier trace."""
        out = self.run_script(
            """
            def cubins(t):
                sql = "SELECT id FROM CUPTI_ACTIVITY_KIND_MODULE WHERE cubinSize > 0 ORDER BY id"
                return [row["id"] for row in t.run.sql(sql).dicts()]
            found, more = [], {"pc_sampling": True}
            with trace("0.sqlite", **more) as t:
                one = cuda.fake_module_load()
            found.append(cubins(t) == [one])
            two = cuda.fake_module_load()
            with trace("1.sqlite", **more) as t:
                three = cuda.fake_module_load()
            modules = t.run.sql("SELECT id FROM CUPTI_ACTIVITY_KIND_MODULE ORDER BY id").dicts()
            found.append([row["id"] for row in modules] == [one, two, three])
            found.append(len(cubins(t)) >= 1)
            with trace("2.sqlite", "gpu") as t:
                pass
            found.append(cubins(t) == [])
            cuda.fake_module_unload(two)
            with trace("3.sqlite", **more) as t:
                cuda.fake_module_unload(three)
            modules = t.run.sql("SELECT id FROM CUPTI_ACTIVITY_KIND_MODULE ORDER BY id").dicts()
            found.append([row["id"] for row in modules] == [one, three])
            print(json.dumps(found))
            """
        )
        self.assertEqual(json.loads(out), [True] * 5)

    def test_counts_of_instructions(self):
        """Exactly those of the trace, without tracing anything else."""
        out = self.run_script(
            """
            work(5)
            found = []
            for i in range(3):
                with trace(f"run{i}.sqlite", source_level_analysis=["branch", "global_access"]) as t:
                    work(10 + i)
                work(7)
                found.append([sum(row["value"] for row in t.run.sass_metrics.dicts()
                                  if row["metric"] == "inst_executed"), len(t.run.kernels)])
            print(json.dumps(found))
            """
        )
        per_launch = json.loads(out)[0][0] / 10
        self.assertGreaterEqual(per_launch, WARPS)
        self.assertEqual(json.loads(out), [[per_launch * (10 + i), 0] for i in range(3)])

    def test_what_is_counted_is_of_the_first_trace(self):
        self.run_script(
            """
            both = ["branch", "global_access"]
            for i, (names, there) in enumerate([(both, True), ("branch", True), (both, True),
                                                ("shared_access", False)]):
                with warnings.catch_warnings(record=True) as said:
                    with trace(f"run{i}.sqlite", source_level_analysis=names) as t:
                        work(5)
                found = {row["metric"] for row in t.run.sass_metrics.dicts()}
                assert bool(found) == there, (names, found)
                assert ("sectors_mem_global" in found) == (names is both), (names, found)
                texts = [str(each.message) for each in said]
                assert any("what it counted first" in text for text in texts) != there, texts
            """
        )

    def test_counts_of_chosen_launches(self):
        out = self.run_script(
            """
            for i in range(2):
                with trace(f"run{i}.sqlite", source_level_analysis="branch",
                           options=["--kernels", "kernel", "--launch-count", 3]) as t:
                    work(10)
                counted = {row["correlation_id"] for row in t.run.sass_metrics.dicts()}
                print(len(counted))
            """
        )
        self.assertEqual(out.split(), ["3"] * 2)

    def test_memory(self):
        out = self.run_script(
            """
            cuda.fake_malloc.restype = ctypes.c_uint64
            kept = cuda.fake_malloc(ctypes.c_uint64(1000))
            def allocates(size):
                return cuda.fake_malloc(ctypes.c_uint64(size))
            for i in range(3):
                with trace(f"run{i}.sqlite", stacks=i > 0, track_memory=True) as t:
                    address = allocates(4096 * (i + 1))
                    cuda.fake_free(ctypes.c_uint64(address))
                names = {row["function"] for row in t.run.sql(
                    "SELECT function FROM STACK_FRAME WHERE line IS NOT NULL").dicts()} if i else ()
                print(json.dumps([len(t.run.memory.readings()), "allocates" in names]))
            """
        )
        lines = out.splitlines()
        self.assertEqual(len(lines), 3)
        for i, line in enumerate(lines):
            readings, named = json.loads(line)
            self.assertGreater(readings, 0)
            self.assertEqual(named, i > 0)

    def test_not_together(self):
        self.run_script(
            """
            for more in ({"metrics": ["dram__bytes_read.sum"]}, {"source_level_analysis": "branch"}):
                try:
                    with trace("run.sqlite", pc_sampling=True, **more):
                        assert False, "it began"
                except gpuprof.Error as error:
                    assert "in runs of their own" in str(error) or "in two runs" in str(error), error
            assert not os.path.exists("run.sqlite")
            with trace("run.sqlite") as t:
                work(3)
            assert len(t.run.kernels) == 3
            """
        )


if __name__ == "__main__":
    unittest.main()
