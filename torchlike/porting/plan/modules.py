"""Modules of the user's own, prepared like the script that imports them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from torchlike.porting.plan.reach import is_users

Prepare = Callable[[CodeType, ModuleType], CodeType]


@contextlib.contextmanager
def prepared(prepare: Prepare) -> Iterator[None]:
    """Have modules that are neither Python's nor installed run the code that ``prepare(code,
    module)`` gives for theirs, in a ``with`` block."""
    finder = _Finder(prepare)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]


class _Finder:
    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that Python finds, where that is the user's source, with a loader that
        prepares the code."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not is_users(spec.origin):
            return None
        spec.loader = _PlanningLoader(spec.loader.name, spec.loader.path, self._prepare)
        return spec


class _PlanningLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, prepare: Prepare) -> None:
        super().__init__(name, path)
        self._prepare = prepare

    def exec_module(self, module: ModuleType) -> None:
        """Run the prepared code; compiled anew, so that no file beside keeps it."""
        code = self.source_to_code(self.get_data(self.path), self.path)
        exec(self._prepare(code, module), module.__dict__)
