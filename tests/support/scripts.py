"""Scripts of the repository as modules."""

import importlib.machinery
import importlib.util
import sys


def load_script(path):
    """A Python script without the extension .py, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem, loader))
    loader.exec_module(module)
    return module
