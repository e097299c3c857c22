"""Classes and functions of torchlike's say that they come from PyTorch's modules:
``torch.nn.modules.linear``.

Mostly that is the name of the module in which they stand. Where PyTorch has them elsewhere,
`PLACES` says so; what stands in a room of ours comes from the module that exports it. A name is
shown only where its new module leads to it, so that pickles and `inspect` find it there: of
PyTorch's compiled functions, such as ``torch._C._special.special_erf``, the public module is shown.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from torchlike._compat import places, return_types  # noqa: F401  (operations return its classes)
from torchlike._runtime import homes

#: Module of PyTorch's -> ours in which its names stand; one name behind a colon.
_THEIR_NAMES = {
    "": "_compat.archives _compat.qschemes _compat.streams _compat.symbolic _core.errors "
    "_core.layouts _ops.aten.tags _runtime.device_memory amp.autocast_mode autograd.anomaly_mode "
    "autograd.grad_mode:is_grad_enabled autograd.grad_mode:is_inference_mode_enabled "
    "backends.device_modules futures jit._script:ScriptModule",
    "_ops": "_ops.aten.custom",
    "accelerator": "accelerator._device",
    "amp.autocast_mode": "amp.autocast_mode:autocast amp.autocast_mode:is_autocast_available",
    "autograd": "autograd.backward",
    "autograd.gradcheck": "autograd.gradcheck_extras",
    "autograd.graph": "_core.tape",
    "autograd.profiler": "profiler.profile:record_function",
    "backends.cuda": "backends.attention_kernels backends.cublas backends.cufft backends.libraries",
    "backends.mha": "nn.modules.padding_fast_path",
    "compiler": "compiler.stance compiler.torch_compile",
    "cuda": "cuda._device cuda.driver cuda.streams",
    "distributed": "_runtime.rendezvous.errors",
    "distributed.checkpoint": "distributed.checkpoint._api",
    "distributed.distributed_c10d": "distributed.collectives distributed.debugging "
    "distributed.groups distributed.objects distributed.point_to_point distributed.reductions "
    "distributed.stores distributed.subgroups distributed.works",
    "distributed.fsdp": "distributed.fsdp._fully_shard distributed.fsdp._policies",
    "distributed.tensor": "distributed.tensor._api distributed.tensor._modules",
    "distributed.tensor.experimental": "distributed.mixed_operands "
    "distributed.tensor.experimental._attention distributed.tensor.experimental._func_map "
    "distributed.tensor.experimental._register_sharding",
    "distributed.tensor.parallel": "distributed.tensor.parallel._api "
    "distributed.tensor.parallel._styles",
    "distributions.transforms": "distributions.transforms.base distributions.transforms.joined "
    "distributions.transforms.elementwise distributions.transforms.regions",
    "export": "export.program",
    "export.dynamic_shapes": "export.dynamic_dims",
    "func": "_functorch.apis:vmap func.gradients func.modules func.tangents func.writes",
    "fx.experimental.symbolic_shapes": "_compat.symbolic:SymNode",
    "fx.graph": "fx._codegen",
    "fx.passes.tools_common": "fx.passes._fusion_groups",
    "fx.passes.utils.fuser_utils": "fx.passes.utils._partitions",
    "jit": "jit._markers jit._script:strict_fusion jit._type_tests",
    "library": "library.custom_op library.infer library.registration",
    "multiprocessing": "multiprocessing.contexts",
    "nn.attention.flex_attention": "nn.attention.block_mask nn.attention.masks",
    "nn.functional": "_ops.linalg.low_bit",
    "nn.hooks": "nn.hooks:Hooks",
    "nn.modules.module": "nn.hooks",
    "optim": "optim.adafactor optim.muon",
    "optim.lr_scheduler": "optim.lr_scheduler.base optim.lr_scheduler.combined "
    "optim.lr_scheduler.cosine optim.lr_scheduler.cycles optim.lr_scheduler.factors "
    "optim.lr_scheduler.plateau",
    "serialization": "serialization.allowed serialization.load serialization.locations "
    "serialization.options serialization.save serialization.unsafe_globals",
    "sparse": "sparse._checks",
    "utils.checkpoint": "utils.checkpoint_parts utils.selective",
    "utils.data._utils.collate": "utils.data.collate",
    "utils.data._utils.worker": "utils.data.workers",
    "utils.flop_counter": "utils.flop_formulas",
    "utils.hooks": "_core.tape:RemovableHandle",
}
#: Where PyTorch has what it writes in Python.
_FUNCTIONAL = "functional"
#: Module of ours -> the module from which PyTorch has one of its names, or ("") all others.
PLACES: dict[str, dict[str, str]] = {"": dict.fromkeys(places.FUNCTIONAL.names, _FUNCTIONAL)}
for _place, _all_ours in _THEIR_NAMES.items():
    for _ours in _all_ours.split():
        _at, _, _name = _ours.partition(":")
        PLACES.setdefault(_at, {})[_name] = _place

PACKAGE, _THEIRS = "torchlike", "torch"
_BELOW = len(PACKAGE) + 1
#: Packages that PyTorch does not have, or not as we do.
_NOT_THEIRS = ("_compat", "_core", "_extensions", "_jit", "_ops", "_runtime", "interop", "porting")


@functools.cache
def _is_theirs(at: str) -> bool:
    """Return whether a module stands at a place that PyTorch has, too."""
    return at.partition(".")[0] not in _NOT_THEIRS


@functools.cache
def _place_at(at: str) -> str | None:
    """Return the place of PyTorch's that a module of ours is, or that it lies in."""
    if _is_theirs(at):
        return at
    head, below = at, ""
    while head:
        if head in _AS_PLACES:
            return _AS_PLACES[head] + below
        head, dot, last = head.rpartition(".")
        below = f"{dot}{last}{below}"
    return None


#: Module in such a package -> the place of PyTorch's that it is.
_AS_PLACES = {
    ours: place
    for place, ours in places.PLACES.items()
    if type(ours) is str and not _is_theirs(ours) and _is_theirs(place)
}
_KINDS = (type, FunctionType, functools._lru_cache_wrapper)


def show(modules: Sequence[ModuleType]) -> None:
    """Let the classes and functions among the names of modules say that they come from PyTorch."""
    if modules:
        import_module(f"{PACKAGE}.{_FUNCTIONAL}")
    show = _Show()
    for module in modules:
        at = module.__name__.partition(".")[2]
        place = at if at in _THEIR_NAMES else _place_at(at)
        if place is not None:  # what other rooms have is among the names of these, too
            show.names_of(module, at, place)


class _Show:
    """One pass over modules; what it has looked up of each is kept for its length."""

    def __init__(self) -> None:
        self._spaces: dict[str, ModuleType | None] = {}
        self._names: dict[str, str] = {}

    def names_of(self, module: ModuleType, at: str, own: str) -> None:
        """Show the names of a module of ours, which is a place: those that stand there, those that
        the table says to be of there, and functions of other rooms that it exports."""
        exported = _exported(module)
        here = f"{PACKAGE}.{at}".rstrip("."), f"{PACKAGE}.{own}".rstrip(".")
        for x in list(module.__dict__.values()):
            if type(x) is FunctionType or isinstance(x, _KINDS):
                if (said := x.__module__) in here:
                    self._show(x, said[_BELOW:], None)
                elif type(said) is str and said.startswith(PACKAGE):
                    other = said[_BELOW:]
                    if _place_said(other, x.__name__) == own:
                        self._show(x, other, None)
                    elif other[:1] == "_" and x.__name__ in exported and not isinstance(x, type):
                        self._show(x, other, own)

    def _show(self, x: Any, at: str, exporter: str | None) -> None:
        """Show a name by the first that leads to it: the table, the module in which it stands, and
        the one that exports it."""
        for place in (_place_said(at, x.__name__), _place_at(at), exporter):
            if place is not None and self._leads_to(x, place):
                homes.show(x, self._names[place])
                return

    def _leads_to(self, x: Any, place: str) -> bool:
        """True if a place is loaded and has a class or function by its name; it is known by
        PyTorch's name then."""
        if place not in self._spaces:
            self._names[place] = f"{_THEIRS}.{place}".rstrip(".")
            self._spaces[place] = _loaded(place, self._names[place])
        module = self._spaces[place]
        if module is None:
            return False
        found = module.__dict__.get(x.__qualname__)
        if found is None and place == _FUNCTIONAL:  # which looks a name up when it is asked for
            found = getattr(module, x.__qualname__, None)
        return found is x


def _place_said(at: str, name: str) -> str | None:
    """Return the place that the table has for a name of a module of ours."""
    said = PLACES.get(at)
    return None if said is None else said.get(name, said.get(""))


def _loaded(place: str, name: str) -> ModuleType | None:
    """Return the module that a place of PyTorch's is, if it is loaded, and let it be imported by
    its name there."""
    module = sys.modules.get(f"{PACKAGE}.{place}".rstrip("."))
    module = module or sys.modules.get(places.module_of(place) or "")
    if module is not None:
        sys.modules.setdefault(name, module)
    return module


def _exported(module: ModuleType) -> Collection[str]:
    """Return the names that a module has for others: all of the package's own."""
    return module.__dict__.get("__all__", module.__dict__ if module.__name__ == _THEIRS else ())
