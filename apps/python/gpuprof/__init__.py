"""The short name of gpuprof_cuda: `import gpuprof` is that package, and its modules are the same
objects under both names.

The Python package index has another gpuprof, which may overwrite this folder. Therefore nothing in
gpuprof_cuda depends on it."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys

import gpuprof_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from gpuprof_cuda import *  # noqa: F403


class _Finder:
    """Finds gpuprof.plot as gpuprof_cuda.plot. The import system would load its file a second time."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, module = name.partition(".")
        # `python -m gpuprof` needs code to run, not a module.
        if package != __name__ or not module or module == "__main__":
            return None
        if importlib.util.find_spec(f"{gpuprof_cuda.__name__}.{module}") is None:
            return None
        return importlib.machinery.ModuleSpec(name, _Finder)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(gpuprof_cuda.__name__ + spec.name[len(__name__) :])
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """It was executed under its own name, whose spec is restored here."""
        assert module.__spec__
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, _Finder)
sys.modules[__name__] = gpuprof_cuda
