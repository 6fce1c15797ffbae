"""Runs a file of tests in the build for another processor, without the tests that exceptions.txt lists.

run_file.py FILE
"""

import pathlib
import runpy
import sys
import unittest

LIST = pathlib.Path(__file__).with_name("exceptions.txt")


def left_out(test):
    """Reasons by Class or Class.method of the file that ctest calls `test`."""
    reasons = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(" ")
        how, _, reason = rest.strip().partition(" ")
        if how == "no" and name.startswith(test + "."):
            reasons[name[len(test) + 1 :]] = reason.strip()
    return reasons


def tests_in(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_in(each)
        else:
            yield each


class Loader(unittest.TestLoader):
    def __init__(self, reasons):
        super().__init__()
        self.reasons = reasons

    def loadTestsFromModule(self, *arguments, **more):  # noqa: N802
        suite = super().loadTestsFromModule(*arguments, **more)
        unknown = set(self.reasons)
        for test in tests_in(suite):
            kind, method = type(test), test._testMethodName
            for name in (kind.__name__, f"{kind.__name__}.{method}"):
                if name in self.reasons:
                    unknown.discard(name)
                    skip = unittest.skip(self.reasons[name])
                    setattr(test, method, skip(getattr(test, method)))
        if unknown:
            sys.exit(f"{LIST.name}: there is no {', '.join(sorted(unknown))}")
        return suite


def main():
    file = pathlib.Path(sys.argv[1]).resolve()
    reasons = left_out(f"{file.parent.name}.{file.stem}")
    run = unittest.main
    unittest.main = lambda *arguments, **more: run(*arguments, testLoader=Loader(reasons), **more)
    sys.argv = [str(file), "-v" if reasons else "-q", *sys.argv[2:]]
    sys.path.insert(0, str(file.parent))
    runpy.run_path(str(file), run_name="__main__")


if __name__ == "__main__":
    main()
