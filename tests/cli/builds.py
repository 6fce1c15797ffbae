"""Each test of a file in one of the gate's builds: those of hostile input, which are marked, with ASan,
and all others in the portable build.

    from builds import asan, load_tests

Files whose tests all run in the same build have the label "asan" or "plain" instead."""

import os
import unittest


def asan(test):
    """Marks a test or a class of tests."""
    test.runs_with_asan = True
    return test


def load_tests(loader, tests, pattern):
    """unittest calls it in each module that has it."""
    portable, sanitized = os.environ.get("GPUPROF_PORTABLE"), os.environ.get("GPUPROF_SANITIZE")
    chosen = unittest.TestSuite()
    for suite in tests:
        for test in suite:
            method = getattr(test, test._testMethodName)
            marked = hasattr(method, "runs_with_asan") or hasattr(test, "runs_with_asan")
            if not (portable if marked else sanitized):
                chosen.addTest(test)
    return chosen
