# ctest-labels: tsan
"""Processes that create processes: forks that use nothing, forks that become other programs, trees."""

import sys
import unittest

from fake_run import FAKE, PREFIX, SANITIZED, FakeTest


class Forks(FakeTest):
    def forked(self, how, *more, parent=40):
        self.profile_with_ledger("forks", how, *more, check=0)
        database = self.database()
        self.assertEqual(database.kernels().get("parent"), parent)
        self.assert_correlated(database)
        return database

    def test_child_without_exec_leaves_no_trace(self):
        for how in ("calls", "_exit", "dies"):
            with self.subTest(how=how):
                self.output = self.folder / f"{how}.sqlite"
                database = self.forked(how)
                self.assertEqual(database.kernels(), {"parent": 40})
                self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 0)])
                self.assertEqual(database.losses(), {})

    def test_child_forked_while_threads_launch(self):
        database = self.forked("busy")
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})

    def test_child_that_outlives_its_parent(self):
        database = self.forked("long")
        self.assertEqual(database.losses(), {})

    def test_exec(self):
        for how in ("exec", "spawn"):
            with self.subTest(how=how):
                self.output = self.folder / f"{how}.sqlite"
                database = self.forked(how, self.program("hello"), 10)
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 40 + 23)
                processes = database.rows(
                    """SELECT number, executable, processId, parentProcessId, goodbye FROM PROCESS
                       ORDER BY number"""
                )
                self.assertEqual([process[0] for process in processes], [0, 1])
                self.assertEqual(processes[0][1], self.program("forks"))
                self.assertEqual(processes[1][1], self.program("hello"))
                self.assertEqual(processes[1][3], processes[0][2])
                self.assertEqual([process[4] for process in processes], [1, 1])

    def test_exec_of_a_program_without_cuda(self):
        database = self.forked("exec", "true")
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 1)


class Trees(FakeTest):
    def test_tree(self):
        depth = 2 if SANITIZED else 3
        self.profile_with_ledger("tree", depth, 10, check=0)
        processes = 2 ** (depth + 1) - 1
        database = self.database()
        self.assertEqual(
            database.kernels(), {f"depth_{depth - i}": 20 * 2**i for i in range(depth + 1)}
        )
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), processes)
        # Each has launched its own, with its own correlation ids.
        self.assert_correlated(database)
        self.assertEqual(
            database.rows(f"""SELECT DISTINCT count(*) FROM {PREFIX}CONCURRENT_KERNEL
                              GROUP BY processId"""),
            [(20,)],
        )
        self.assertEqual(
            database.one(f"""SELECT count(*) FROM (SELECT correlationId >> 32 AS number
                               FROM {PREFIX}RUNTIME GROUP BY 1
                               HAVING count(DISTINCT processId) > 1)"""),
            0,
        )
        # So a join on just the correlation id is right.
        self.assertEqual(
            database.one(f"""SELECT count(*) FROM {PREFIX}CONCURRENT_KERNEL AS k
                             JOIN {PREFIX}RUNTIME AS r USING (correlationId)"""),
            processes * 20,
        )
        self.assertEqual(
            database.one(f"""SELECT count(*) FROM {PREFIX}CONCURRENT_KERNEL AS k
                             JOIN {PREFIX}RUNTIME AS r USING (correlationId)
                             WHERE r.processId != k.processId"""),
            0,
        )
        self.assertEqual(
            database.one(f"""SELECT count(*) FROM {PREFIX}CONCURRENT_KERNEL AS k
                             JOIN PROCESS AS p ON p.number = k.correlationId >> 32
                             WHERE p.processId = k.processId"""),
            processes * 20,
        )

    def test_python_with_workers(self):
        script = self.folder / "workers.py"
        script.write_text(f"""
import ctypes, multiprocessing, os, subprocess, sys
def work(i):
    subprocess.run(['{FAKE}/die', '_exit', '10'])
    subprocess.run(['{FAKE}/hello', '1'], stdout=subprocess.DEVNULL)
    os._exit(0)
workers = [multiprocessing.get_context(how).Process(target=work, args=(i,))
           for i, how in enumerate(['fork', 'fork', 'fork'])]
for worker in workers: worker.start()
for worker in workers: worker.join()
sys.exit(3)
""")
        self.program = lambda name: name
        self.profile(sys.executable, script, check=3)
        database = self.database()
        self.assertEqual(
            database.kernels(),
            {"_Z5dyingPf": 30, "_Z6vectorPfi": 3, "_ZN3lib6directILi4EEEvPKf": 3, "_Z4nodev": 9},
        )
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 6)
        self.assertEqual(database.one("SELECT sum(goodbye) FROM PROCESS"), 3)
        self.assert_correlated(database)

    def test_devices(self):
        self.profile("hello", check=0, FAKE_CUDA_DEVICES=4)
        database = self.database()
        self.assertEqual(database.count("DEVICE"), 4)
        self.assertEqual(
            database.rows(f"""SELECT deviceId, count(*) FROM {PREFIX}DEVICE_ATTRIBUTE
                              GROUP BY deviceId"""),
            [(i, 120) for i in range(4)],
        )
        self.assertEqual(
            database.rows(f"""SELECT DISTINCT s.value FROM {PREFIX}DEVICE AS d
                              JOIN StringTable AS s ON s._id_ = d.name"""),
            [("Stand-in GPU",)],
        )


if __name__ == "__main__":
    unittest.main()
