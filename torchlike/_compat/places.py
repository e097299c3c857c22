"""The places at which PyTorch has names that live elsewhere here: one table, and the finder that
makes its modules.

A package of PyTorch's with code of its own is a folder or a file of ours. Where it is only another
way to a name (``torch._tensor.Tensor``), or too small for a place at the root (``torch.xpu``), it
is a line of this table, and ``import torchlike.xpu`` or ``from torch._tensor import Tensor`` makes
a module of that line. What PyTorch has and torchlike refuses stands in ``unsupported.py``.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.overrides import python_signatures
from torchlike._runtime.patches import at_import
from torchlike.tensor import Tensor


class Functions(NamedTuple):
    """The functions of one of the registry's namespaces; of all, or of ``names``. And methods of
    tensors, as functions."""

    space: str
    prefix: str = ""
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()


#: What PyTorch has in ``torch.functional`` as well: what it writes in Python there, and two more.
FUNCTIONAL = Functions(
    "", names=tuple(sorted(python_signatures.names("") | {"broadcast_shapes", "istft"}))
)

#: Place -> the module that it is, by its name below this package; or name -> where the name is
#: found, ``module`` or ``module:other_name``; or functions by namespace.
PLACES: dict[str, str | dict[str, str] | Functions] = {
    "_C": "_compat.core",
    "_C._autograd": {"SavedTensor": "autograd.saved_tensor"},
    "_C._distributed_c10d": {
        "DistBackendError": "distributed.stores",
        "DistError": "distributed.stores",
        "DistNetworkError": "distributed.stores",
        "DistStoreError": "distributed.stores",
        "FileStore": "distributed.file_stores",
        "HashStore": "distributed.stores",
        "PrefixStore": "distributed.stores",
        "ProcessGroup": "distributed.groups",
        "ReduceOp": "distributed.collectives",
        "Store": "distributed.stores",
        "TCPStore": "distributed.stores",
        "Work": "distributed.collectives",
    },
    "_C._fft": Functions("fft", prefix="fft_"),
    "_C._linalg": Functions("linalg", prefix="linalg_"),
    "_C._special": Functions("special", prefix="special_"),
    "_VF": Functions(""),
    "__config__": "_compat.configuration",
    "__future__": "nn.conversion_switches",
    "_core.tensor": "tensor",  # ours: pickles name it from before the class moved
    "_compile": {"_disable_dynamo": "jit._markers"},
    "_custom_ops": "library.older_definitions",
    "_functorch.deprecated": "func.deprecated",
    "_functorch.make_functional": "func.make_functional",
    "_guards": "_subclasses.active_mode",
    "_inductor": "compiler.inductor",
    "_jit_internal": {
        "Dict": "builtins:dict",
        "Final": "typing",
        "List": "builtins:list",
        "Optional": "typing",
        "Tuple": "builtins:tuple",
        "Union": "typing",
        "_copy_to_script_wrapper": "jit._markers",
        "_overload": "jit._markers",
        "_overload_method": "jit._markers",
        "export": "jit._markers",
        "ignore": "jit._markers",
        "is_scripting": "jit._markers",
        "unused": "jit._markers",
    },
    "_library": {},
    "_library.fake_impl": "_subclasses.fake_context",
    "_library.infer_schema": {"infer_schema": "library.infer"},
    "_library.simple_registry": "library.simple_registry",
    "_library.utils": "library.lookup",
    "_refs": Functions("", methods=("expand", "expand_as", "repeat", "view", "view_as")),
    "_refs.fft": Functions("fft"),
    "_refs.linalg": Functions("linalg"),
    "_refs.nn": {},
    "_refs.nn.functional": Functions("nn.functional"),
    "_refs.special": Functions("special"),
    "_prims_common": "ops._aten.prims_common",
    "_tensor": {"Tensor": "tensor", "_rebuild_from_type_v2": "serialization.rebuilding"},
    "_tensor_str": "_compat.print_settings",
    "_vmap_internals": "func.older_vmap",
    "ao.nn.qat.dynamic.modules": "ao.nn.qat.dynamic",
    "ao.nn.qat.dynamic.modules.linear": "ao.nn.qat.dynamic",
    "ao.nn.qat.modules": "ao.nn.qat",
    "ao.nn.qat.modules.conv": "ao.nn.qat",
    "ao.nn.qat.modules.embedding_ops": "ao.nn.qat",
    "ao.nn.qat.modules.linear": "ao.nn.qat",
    "as_torch": "porting.as_torch",  # ours: documented under this name
    "classes": "library.classes",
    "cpu": "_compat.devices.cpu",
    "distributed.algorithms._checkpoint": {},
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "utils.checkpoint_wrapper",
    "distributed.rpc": {"is_available": "_compat.core._distributed_rpc"},
    "functional": FUNCTIONAL,
    "mps": "_compat.devices.mps",
    "mtia": "_compat.devices.mtia",
    "nn.qat": "ao.nn.qat",
    "nn.qat.dynamic": "ao.nn.qat.dynamic",
    "numa": {},
    "numa.binding": "_compat.numa",
    "profiler.profiler": "profiler.profile",
    "quantization": "ao.quantization",
    "return_types": "_compat.return_types",
    "storage": {
        "TypedStorage": "_compat.typed_storage",
        "UntypedStorage": "_extensions.untyped_storage",
    },
    "torch_version": "_compat.torch_version",
    "types": "_compat.types",
    "utils._cxx_pytree": "utils._pytree",
    "utils.bottleneck": "porting.bottleneck",
    "xpu": "_compat.devices.xpu",
}

_ROOT = __name__.partition(".")[0]


def at_root() -> frozenset[str]:
    """Return the names that the table gives the package itself, but for what acts when it is
    imported: nobody who looks at all names should start it."""
    return frozenset(place for place in PLACES if "." not in place) - {"as_torch"}


def module_of(place: str) -> str | None:
    """Return the full name of the module that a place is, which may lie below one of the table's;
    None where the place is none, or has names of several modules."""
    head, below = place, ""
    while head:
        target = PLACES.get(head)
        if isinstance(target, str):
            return f"{_ROOT}.{target}{below}"
        if target is not None:
            return None
        head, dot, last = head.rpartition(".")
        below = f"{dot}{last}{below}"
    return None


class PlaceFinder(MetaPathFinder):
    """Finds the modules of the table, ahead of the finder of files: a file below a module that is
    at two places would else be loaded twice."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        place = fullname[len(_PREFIX) :]
        if place in PLACES and module_of(place) is None:
            # Always a package: what is refused below it (unsupported.py) is found there.
            return ModuleSpec(fullname, _NamesLoader(place), is_package=True)
        real = module_of(place)
        found = None if real is None else importlib.util.find_spec(real)
        if real is None or (place not in PLACES and found is None):
            return None
        is_package = found is not None and found.submodule_search_locations is not None
        return ModuleSpec(fullname, _SameModuleLoader(real), is_package=is_package)


_PREFIX = f"{_ROOT}."


class _SameModuleLoader(Loader):
    """Loads a module that has another name already: the very same object.

    `torchlike.porting.aliases._AliasLoader` does it for the whole of ``torch``, with more to answer
    for.
    """

    def __init__(self, real: str) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back; it has run under its own name."""
        module.__spec__ = self._spec

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's code, for ``python -m``."""
        found: Any = importlib.util.find_spec(self._real)
        return found.loader.get_code(self._real)


class _NamesLoader(Loader):
    """Makes a module of names that live elsewhere; each is looked up when it is asked for."""

    def __init__(self, place: str) -> None:
        self._place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        doc = f"``torch.{self._place}``: names that live elsewhere in torchlike."
        return _Names(spec.name, doc, PLACES[self._place])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is whole."""


class _Names(ModuleType):
    """A module of names that live elsewhere."""

    def __init__(self, name: str, doc: str, names: Any) -> None:
        super().__init__(name, doc)
        table = {n: n for n in _function_names(names)} if isinstance(names, Functions) else names
        self.__dict__.update(_names=names, __all__=sorted(table))

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else _resolve(self.__dict__["_names"], name)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__all__})


def _function_names(names: Functions) -> list[str]:
    found = [names.prefix + name for name in names.names or NAMESPACES[names.space]]
    return [*found, *names.methods]


def _resolve(names: Mapping[str, str] | Functions, name: str) -> Any:
    """Return what a name of a place stands for; None where the place has no such name."""
    if isinstance(names, Functions):
        if name in names.methods:
            return getattr(Tensor, name)
        bare = name.removeprefix(names.prefix)
        known = name.startswith(names.prefix) and (not names.names or bare in names.names)
        return NAMESPACES[names.space].get(bare) if known else None
    where = names.get(name)
    if where is None:
        return None
    module, _, other = where.partition(":")
    full = module if module in ("builtins", "typing") else f"{_ROOT}.{module}"
    return getattr(importlib.import_module(full), other or name)


def install() -> None:
    """Have Python find the table's modules, from the first import on."""
    if not any(isinstance(finder, PlaceFinder) for finder in sys.meta_path):
        at_import.PLACES.insert(sys.meta_path, PlaceFinder())
