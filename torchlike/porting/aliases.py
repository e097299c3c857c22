"""``import torch`` gives torchlike: every ``torch.x.y`` is the very module ``torchlike.x.y``.

A finder at the front of ``sys.meta_path`` answers for ``torch`` and all below it, so real PyTorch
is never looked for, installed or not. A module is executed once: the alias is a second entry in
``sys.modules`` for the same object.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from torchlike._runtime import homes
from torchlike._runtime.frames import IMPORT_SYSTEM, innermost, module_of, package_of
from torchlike._runtime.patches import in_processes
from torchlike.porting import late, metadata, shown_names
from torchlike.porting.hints import missing


class _AliasLoader(Loader):
    """Puts an existing module under a second name, ``torch`` or a name below it.

    `torchlike._compat.places._SameModuleLoader` gives a place of PyTorch's the module that stands
    elsewhere in torchlike, and no more. This one answers for ``python -m`` and ``inspect`` under
    the second name, and explains what is missing below it.
    """

    def __init__(self, alias: str, real: str) -> None:
        self.alias = alias
        self.real = real

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands back whatever stands in sys.modules after this call. Giving it the
        # real module in create_module instead would overwrite that module's __spec__.
        module = sys.modules[self.alias] = importlib.import_module(self.real)
        if "." not in self.real:  # libraries compare the root's name with "torch"
            in_processes.ALIAS.replace(module, "__name__", self.alias)
        if "." not in self.alias:  # what is loaded later is explained when it has been
            explain({n: m for n, m in sys.modules.items() if _is_below(n, self.real)})
        self._name_hidden(module)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the existing module, for ``python -m``."""
        return self._real_loader().get_code(self.real)

    def get_source(self, fullname: str) -> str | None:
        """Return the source of the existing module."""
        return self._real_loader().get_source(self.real)

    def is_package(self, fullname: str) -> bool:
        """Return whether the existing module is a package."""
        return self._real_loader().is_package(self.real)

    def _real_loader(self) -> Any:
        spec = importlib.util.find_spec(self.real)
        assert spec is not None
        return spec.loader

    def _name_hidden(self, module: ModuleType) -> None:
        """Name the submodules whose place in ``module`` something else has taken, as the function
        ``gradcheck`` has in ``autograd``: an import of them would put the module there."""
        below = f"{self.real}."
        for name, submodule in list(sys.modules.items()):
            child = name.removeprefix(below)
            if child == name or "." in child or module.__dict__.get(child) is submodule:
                continue
            sys.modules.setdefault(f"{self.alias}.{child}", submodule)


class AliasFinder(MetaPathFinder):
    """Answers imports of ``alias`` and its submodules with those of the package ``target``.

    is_installed: pip knows a distribution of the alias's name, which speaks for itself.
    for_programs: installed packages hear that there is none, until the program itself imports it.
    """

    def __init__(
        self, alias: str, target: str, is_installed: bool = False, for_programs: bool = False
    ) -> None:
        self.alias = alias
        self.target = target
        self.is_installed = is_installed
        self.for_programs = for_programs

    def real_name(self, name: str) -> str | None:
        """Return the target's name for ``name``, or None when ``name`` is not below the alias."""
        return self.target + name[len(self.alias) :] if _is_below(name, self.alias) else None

    def name_of(self, real: str) -> str:
        """Return the alias's name for a module of the target's."""
        return self.alias + real[len(self.target) :]

    def remove(self) -> None:
        """Answer no more, and let go of the modules by the alias's names: what has imported them
        keeps them."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        for name in [name for name in sys.modules if self.real_name(name) is not None]:
            del sys.modules[name]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        real = self.real_name(fullname)
        if real is None:
            is_watched = _finder_of(fullname) is self and self.alias in sys.modules
            return late.watched(fullname, path, target, self, explain) if is_watched else None
        if self.for_programs and fullname == self.alias and (asking := _installed_importer()):
            if _only_asking(sys._getframe(1)):
                return None
            raise ModuleNotFoundError(
                f"there is no {self.alias} for installed packages such as {asking}, which would "
                f"take their way for it; a program that means {self.alias} imports it before",
                name=fullname,
            )
        if real in sys.modules or importlib.util.find_spec(real) is not None:
            return ModuleSpec(fullname, _AliasLoader(fullname, real))
        if _only_asking(sys._getframe(1)):
            return None
        raise ModuleNotFoundError(missing(fullname), name=fullname)

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        """Return the distributions that ``importlib.metadata`` finds of the alias, first and
        without a file on disk."""
        if self.is_installed:
            return iter(())
        return metadata.distributions(
            self.alias, lambda: importlib.import_module(self.target).__version__, context
        )


def install(
    alias: str = "torch",
    target: str = "torchlike",
    *,
    is_installed: bool = False,
    for_programs: bool = False,
) -> AliasFinder:
    """Make ``import <alias>`` mean ``<target>`` in this process, from now on.

    ``is_installed``, ``for_programs``: as of ``AliasFinder``.

    Raises:
        RuntimeError: another module of that name has been imported already.
    """
    for finder in sys.meta_path:
        if isinstance(finder, AliasFinder) and (finder.alias, finder.target) == (alias, target):
            return finder
    if alias in sys.modules and sys.modules[alias] is not sys.modules.get(target):
        raise RuntimeError(
            f"{alias!r} has been imported before torchlike could take its name; "
            f"install the alias before anything imports {alias!r}"
        )
    finder = AliasFinder(alias, target, is_installed, for_programs)
    sys.meta_path.insert(0, finder)
    in_processes.ALIAS.note(finder.remove)
    in_processes.ALIAS.note(homes.hide)
    return finder


def _is_below(name: str, root: str) -> bool:
    return name == root or name.startswith(root + ".")


def _finder_of(real: str) -> AliasFinder | None:
    """Return the finder of the alias that is closest to a module of torchlike's."""
    finders = [f for f in sys.meta_path if isinstance(f, AliasFinder) and _is_below(real, f.target)]
    return max(finders, key=lambda finder: len(finder.target), default=None)


def _installed_importer() -> str | None:
    """Return the package that imports now, if it stands beside the metadata that an installer
    wrote."""
    frame = innermost(
        sys._getframe(2), lambda f: module_of(f) == __name__ or package_of(f) in IMPORT_SYSTEM
    )
    name = "" if frame is None else package_of(frame)
    package = sys.modules.get(name)
    file = getattr(package, "__file__", None)
    if name == "__main__" or file is None:
        return None
    folder = Path(file).parents[1 if hasattr(package, "__path__") else 0]
    return name if any(folder.glob("*.dist-info")) else None


def _only_asking(frame: FrameType | None) -> bool:
    """Return whether this is ``importlib.util.find_spec``, which wants None for a missing module,
    not an error."""
    while frame is not None and frame.f_code.co_filename == "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


def explain(modules: Mapping[str, ModuleType]) -> None:
    """Explain what is missing in modules of torchlike's, and let their names say PyTorch's module:
    ``torch.nn.x`` reaches modules that no import statement of the script has named."""
    for name, module in modules.items():
        if (finder := _finder_of(name)) is not None:
            _explain_missing_names(module, finder.name_of(name))
    shown_names.show([m for n, m in modules.items() if _is_below(n, shown_names.PACKAGE)])


def _explain_missing_names(module: ModuleType, alias: str) -> None:
    """Give ``module`` a ``__getattr__`` that names what is missing, in PyTorch's spelling."""
    own = module.__dict__.get("__getattr__")
    real = module.__name__ if module.__spec__ is None else module.__spec__.name
    if getattr(own, "names_missing", False):
        return

    def __getattr__(name: str):
        if own is not None:
            # The message below says what is missing in the script's own terms.
            with contextlib.suppress(AttributeError):
                return own(name)
        if name.startswith("__"):
            raise AttributeError(f"module {real!r} has no attribute {name!r}")
        message = missing(f"{alias}.{name}", dir(module))
        submodule = f"{real}.{name}"
        if _importing_from(sys._getframe(1)) and submodule not in sys.modules:
            raise ImportError(message, name=alias, path=getattr(module, "__file__", None))
        # Without the object, of which Python would suggest a name once more.
        raise AttributeError(message, name=name)

    __getattr__.names_missing = True  # type: ignore[attr-defined]
    in_processes.ALIAS.replace(module, "__getattr__", __getattr__)


def _importing_from(frame: FrameType) -> bool:
    """Return whether ``frame`` is at ``from x import y``. Python would replace an AttributeError's
    words there."""
    instruction = frame.f_code.co_code[frame.f_lasti] if frame.f_lasti >= 0 else 0
    return dis.opname[instruction] == "IMPORT_FROM"
