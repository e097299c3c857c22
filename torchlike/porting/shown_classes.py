"""Classes of torchlike's say that they come from PyTorch's modules: ``torch.nn.modules.linear``.

Mostly that is the name of the module in which they stand. Where PyTorch has them elsewhere,
`PLACES` says so. A class is shown only where its new name leads to it, so that pickles, and
`inspect`, find it by that name. Functions keep their modules: PyTorch's own are mostly compiled,
and say nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType

from torchlike._compat import return_types  # noqa: F401  (loaded: operations return its classes)
from torchlike._compat.places import module_of
from torchlike._runtime import homes
from torchlike._runtime.patches import in_processes

#: Module of PyTorch's -> ours in which its classes stand; one class behind a colon.
_THEIR_CLASSES = {
    "": "_compat.archives _compat.qschemes _compat.streams _compat.symbolic _core.errors "
    "_core.layouts _ops.aten.tags _runtime.device_memory futures jit._script:ScriptModule",
    "_ops": "_ops.aten.custom",
    "autograd.gradcheck": "autograd.gradcheck_extras",
    "autograd.graph": "_core.tape",
    "autograd.profiler": "profiler.profile:record_function",
    "backends.cuda": "backends.attention_kernels backends.cublas backends.cufft",
    "cuda": "cuda._device cuda.driver",
    "distributed": "_runtime.rendezvous.errors",
    "distributed.checkpoint": "distributed.checkpoint._api",
    "distributed.distributed_c10d": "distributed.debugging distributed.groups "
    "distributed.point_to_point distributed.reductions distributed.stores distributed.subgroups "
    "distributed.works",
    "distributed.fsdp": "distributed.fsdp._fully_shard distributed.fsdp._policies",
    "distributed.tensor.parallel": "distributed.tensor.parallel._styles",
    "distributions.transforms": "distributions.transforms.base distributions.transforms.joined "
    "distributions.transforms.elementwise distributions.transforms.regions",
    "fx.experimental.symbolic_shapes": "_compat.symbolic:SymNode",
    "fx.graph": "fx._codegen",
    "fx.passes.tools_common": "fx.passes._fusion_groups",
    "jit": "jit._script:strict_fusion",
    "library": "library.registration",
    "nn.attention.flex_attention": "nn.attention.block_mask",
    "nn.functional": "_ops.linalg.low_bit",
    "numa.binding": "_compat.numa",
    "optim": "optim.adafactor optim.muon",
    "optim.lr_scheduler": "optim.lr_scheduler.base optim.lr_scheduler.combined "
    "optim.lr_scheduler.cosine optim.lr_scheduler.cycles optim.lr_scheduler.factors "
    "optim.lr_scheduler.plateau",
    "serialization": "serialization.allowed serialization.options",
    "sparse": "sparse._checks",
    "utils.checkpoint": "utils.checkpoint_parts utils.selective",
    "utils.hooks": "_core.tape:RemovableHandle",
}
#: Module of ours, or class -> the module from which PyTorch has it.
PLACES = {ours: place for place, all_ours in _THEIR_CLASSES.items() for ours in all_ours.split()}

_OURS, _THEIRS = "torchlike", "torch"
#: Packages that PyTorch does not have, or not as we do.
_NOT_THEIRS = ("_compat", "_core", "_extensions", "_jit", "_ops", "_runtime", "interop", "porting")


def show(module: ModuleType) -> None:
    """Let the classes among a module's names say that they come from PyTorch."""
    for cls in [x for x in module.__dict__.values() if isinstance(x, type)]:
        at = cls.__module__
        if not (type(at) is str and at.startswith(_OURS)):
            continue
        for place in _places(at.removeprefix(_OURS).removeprefix("."), cls.__name__):
            if _leads_to(cls, place):
                homes.show(in_processes.ALIAS, cls, f"{_THEIRS}.{place}".rstrip("."))
                break


def _places(at: str, name: str) -> tuple[str, ...]:
    """Return the places of PyTorch's that may have a class, by their names below ``torch``."""
    said = PLACES.get(f"{at}:{name}", PLACES.get(at))
    own = () if at.partition(".")[0] in _NOT_THEIRS else (at,)
    return own if said is None else (said, *own)


def _leads_to(cls: type, place: str) -> bool:
    """True if a place is loaded and has a class by its name; it is known by PyTorch's name then."""
    name = f"{_OURS}.{place}".rstrip(".")
    module = sys.modules.get(name) or sys.modules.get(module_of(place) or "")
    if module is None or module.__dict__.get(cls.__qualname__) is not cls:
        return False
    sys.modules.setdefault(f"{_THEIRS}.{place}".rstrip("."), module)
    return True
