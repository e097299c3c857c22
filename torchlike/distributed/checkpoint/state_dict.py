"""State dicts of models and optimizers by the names of parameters, whatever wraps the model.

An optimizer's own state dict counts parameters; here it has their names, so that what was saved
can be loaded where the order of parameters, the mesh or the wrappers are others.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.meta import MetaArray
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed.checkpoint._broadcast import from_rank_0
from torchlike.distributed.groups import get_rank, is_initialized
from torchlike.distributed.tensor._api import full_tensor, where
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor._whole import in_parts
from torchlike.nn.modules.module import Module
from torchlike.nn.state import _IncompatibleKeys
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor

_T = TypeVar("_T")
#: What wrappers put into the names of what they wrap.
_WRAPPERS = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


@dataclass
class StateDictOptions:
    """What the functions of this module give and take.

    Args:
      full_state_dict: whole tensors, on no mesh; given as whole tensors, too.
      cpu_offload: on the host; with ``full_state_dict`` in the first process alone, and nothing in
        the others.
      ignore_frozen_params: without parameters that require no grad.
      strict: RuntimeError for names that the model lacks, or that are missing, on loading.
      broadcast_from_rank0: what the first process is given is loaded in all; the others may be
        given an empty dictionary. Needs ``full_state_dict``.
      flatten_optimizer_state_dict: optimizer state under ``state.NAME.key`` in one dictionary.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


def _clean(name: str, model: Any) -> str:
    """Return the name of a parameter without the names of its wrappers."""
    for part in _WRAPPERS:
        name = name.replace(part, "")
    if type(model).__name__ in ("DistributedDataParallel", "DataParallel"):
        name = name.removeprefix("module.")
    return name


def _shown(t: _T, options: StateDictOptions) -> _T | Tensor:
    if not isinstance(t, Tensor):
        return t
    found = t.detach()
    if options.full_state_dict and where(found) is not None:
        found = full_tensor(found)
    return found.cpu() if options.cpu_offload else found


def _is_given(options: StateDictOptions) -> bool:
    """Return whether this process gets the state dict: whole tensors on the host go to the first
    process alone, which has gathered them with the others."""
    alone = options.full_state_dict and options.cpu_offload and is_initialized()
    return not alone or get_rank() == 0


def _of_submodules(
    model: Module, submodules: Any, options: StateDictOptions
) -> Callable[[str], bool]:
    """Return what tells the names of parameters of these submodules: all where none are given."""
    if not submodules:
        return lambda name: True
    if not options.keep_submodule_prefixes:
        raise NotImplementedError(
            "StateDictOptions(keep_submodule_prefixes=False): take the prefix off the names"
        )
    warnings.warn(
        "Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. "
        "This feature can be achieved by manually filtering out the state_dict returned from "
        "get_state_dict.",
        FutureWarning,
        stacklevel=3,
    )
    parts = set(submodules)
    wanted = tuple(f"{_clean(n, model)}." for n, m in model.named_modules() if m in parts)
    return lambda name: name.startswith(wanted)


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Return the model's state dict, with names as it had them before it was wrapped."""
    said = options or StateDictOptions()
    is_wanted = _of_submodules(model, submodules, said)
    frozen = (
        {
            _clean(n, model)
            for n, p in model.named_parameters(remove_duplicate=False)
            if not p.requires_grad
        }
        if said.ignore_frozen_params
        else set()
    )
    found = {_clean(k, model): v for k, v in model.state_dict().items()}
    shown = {k: _shown(v, said) for k, v in found.items() if k not in frozen and is_wanted(k)}
    return shown if _is_given(said) else {}


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Load a state dict with names as of ``get_model_state_dict``; whole tensors are cut as the
    model's are where ``full_state_dict`` is set. A model on the meta device takes the tensors
    themselves. Gives the missing and unexpected names. RuntimeError for such with ``strict``."""
    said = options or StateDictOptions()
    if said.broadcast_from_rank0:
        model_state_dict = from_rank_0(model_state_dict)
    held = model.state_dict()
    own = {_clean(k, model): k for k in held}
    given = {own.get(k, k): v for k, v in model_state_dict.items()}
    if said.full_state_dict:
        given = {k: _placed(v, held[k]) if k in held else v for k, v in given.items()}
    meta = any(isinstance(t, Tensor) and t.is_meta for t in held.values())
    return model.load_state_dict(given, strict=said.strict, assign=meta)


# -- optimizers ------------------------------------------------------------------------------------


def _as_tuple(optimizers: Any) -> tuple[Optimizer, ...]:
    return (optimizers,) if isinstance(optimizers, Optimizer) else tuple(optimizers)


def _names(model: Module) -> dict[int, str]:
    found: dict[int, str] = {}
    for name, p in model.named_parameters():
        found.setdefault(id(p), _clean(name, model))
    return found


def _init_optim_state(optimizer: Optimizer) -> None:
    """Have an optimizer make its state, by a step of length 0 with gradients of 0."""
    params = [p for g in optimizer.param_groups for p in g["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    zeros = NAMESPACES[""]["zeros_like"]
    rates = [g.get("lr") for g in optimizer.param_groups]
    with no_grad():
        for p in params:
            if p.requires_grad:
                p.grad = zeros(p)
        for g in optimizer.param_groups:
            if "lr" in g:
                g["lr"] = zeros(g["lr"]) if isinstance(g["lr"], Tensor) else 0.0
    optimizer.step()
    for g, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in g:
            g["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the state of optimizers by the names of the model's parameters. One that has made no
    step is made to have state, of zeros, which ``checkpoint.load`` can fill.

    RuntimeError for a parameter that is not the model's.
    """
    said = options or StateDictOptions()
    is_wanted = _of_submodules(model, submodules, said)
    names = _names(model)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _as_tuple(optimizers):
        _init_optim_state(optimizer)
        raw = optimizer.state_dict()
        params = [p for g in optimizer.param_groups for p in g["params"]]
        order = itertools.chain.from_iterable(g["params"] for g in raw["param_groups"])
        name_of = {key: _name_of(p, names) for key, p in zip(order, params, strict=True)}
        for key, state in raw["state"].items():
            if not is_wanted(name_of[key]):
                continue
            found["state"][name_of[key]] = {k: _shown(v, said) for k, v in state.items()}
        for group in raw["param_groups"]:
            own = [name_of[key] for key in group["params"]]
            found["param_groups"].append({**group, "params": [n for n in own if is_wanted(n)]})
    if not _is_given(said):
        return {}
    return _flat(found) if said.flatten_optimizer_state_dict else found


def _name_of(p: Tensor, names: dict[int, str]) -> str:
    if id(p) not in names:
        raise RuntimeError(
            "an optimizer has a parameter that is not the model's: it was made before the model "
            "got others, or of another model"
        )
    return names[id(p)]


def _flat(nested: dict[str, Any]) -> dict[str, Any]:
    found = {
        f"state.{name}.{k}": v for name, state in nested["state"].items() for k, v in state.items()
    }
    for group in nested["param_groups"]:
        for name in group["params"]:
            found.update({f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"})
    return found


def _from_flat(flat: dict[str, Any], names: Iterable[str], optimizer: Any) -> dict[str, Any]:
    """Return the nested state dict for one optimizer, whose parameters have these names."""
    wanted = list(names)
    state: dict[str, Any] = {}
    for key, value in flat.items():
        kind, _, rest = key.partition(".")
        name, _, field = rest.rpartition(".")
        if kind == "state" and name in wanted:
            state.setdefault(name, {})[field] = value
    groups = []
    for group in optimizer.param_groups:
        count = len(group["params"])
        own, wanted = wanted[:count], wanted[count:]
        first = f"param_groups.{own[0]}." if own else ""
        said = {k.removeprefix(first): v for k, v in flat.items() if first and k.startswith(first)}
        groups.append({**said, "params": own})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: Module,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load state by the names of parameters; whole tensors are cut as their parameters are.

    RuntimeError for a parameter that is not the model's, or that no saved group has.
    """
    if options is not None and options.broadcast_from_rank0:
        optim_state_dict = from_rank_0(optim_state_dict)
    names = _names(model)
    for optimizer in _as_tuple(optimizers):
        params = [p for g in optimizer.param_groups for p in g["params"]]
        own = {_name_of(p, names): p for p in params}
        given = optim_state_dict
        if "state" not in given:
            given = _from_flat(given, own, optimizer)
        number = {name: i for i, name in enumerate(own)}
        state = {
            number[name]: {k: _placed(v, own[name]) for k, v in values.items()}
            for name, values in given["state"].items()
            if name in own
        }
        optimizer.load_state_dict(
            {"state": state, "param_groups": _groups(optimizer, own, number, given)}
        )


def _groups(optimizer: Any, own: dict[str, Any], number: dict[str, int], given: Any) -> list[Any]:
    """Return the saved groups in the order of the optimizer's."""
    left = iter(own)
    found = []
    for group in optimizer.param_groups:
        members = [next(left) for _ in group["params"]]
        saved = next((g for g in given["param_groups"] if set(members) & set(g["params"])), None)
        if saved is None and members:
            raise RuntimeError(
                f"Missing optimizer state for parameter '{members[0]}' in checkpoint: no saved "
                "group has it"
            )
        found.append({**(saved or {}), "params": [number[m] for m in members]})
    return found


def _placed(value: _T, p: Tensor) -> _T | Tensor:
    """Return a state tensor moved to where its parameter lies, if it has the parameter's size."""
    storage = p._storage
    if not isinstance(value, Tensor) or value.shape != p.shape or not storage.is_placed:
        return value
    array = value.detach()._value_now()
    if isinstance(storage, PlacedStorage) and type(array) is not MetaArray:
        array = in_parts(array, storage.sharding)
    return Tensor._on(storage.alike(array))


# -- both ------------------------------------------------------------------------------------------


def get_state_dict(
    model: Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (``get_model_state_dict``, ``get_optimizer_state_dict``)."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Do ``set_optimizer_state_dict`` and ``set_model_state_dict``, and return what the latter
    does."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
