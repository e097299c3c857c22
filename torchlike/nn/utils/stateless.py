"""Calling a module with other tensors in the place of its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from torchlike import modes
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

__all__ = ["functional_call"]


def _owner(module: Module, path: str) -> tuple[Module, str, dict[str, Any]]:
    """The module that holds a tensor, the tensor's name and the table it stands in."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    for table in (owner._parameters, owner._buffers):
        if name in table:
            return owner, name, table
    raise KeyError(path)


def _tied(module: Module) -> dict[int, list[str]]:
    """The names of each tensor that has more than one, by its id."""
    found: dict[int, list[str]] = {}
    named = (module.named_parameters, module.named_buffers)
    for walk in named:
        for name, tensor in walk(remove_duplicate=False):
            found.setdefault(id(tensor), []).append(name)
    return {k: names for k, names in found.items() if len(names) > 1}


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same value under all names of a tensor. ValueError for two values of one."""
    whole = dict(given)
    for names in _tied(module).values():
        values = [given[name] for name in names if name in given]
        if not values:
            continue
        if any(v is not values[0] for v in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        whole.update(dict.fromkeys(names, values[0]))
    return whole


@contextlib.contextmanager
def reparametrized(
    module: Module, given: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Inside, the module has the given tensors (by dotted name) in the place of its own."""
    if tie_weights:
        given = _with_tied(module, given)
    own = {n for n, _ in module.named_parameters(remove_duplicate=False)}
    own |= {n for n, _ in module.named_buffers(remove_duplicate=False)}
    unexpected = sorted(set(given) - own)
    missing = sorted(own - set(given)) if strict else []
    if strict and (missing or unexpected):
        parts = [
            f"{kind} key(s): {', '.join(map(repr, keys))}."
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys
        ]  # fmt: skip
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts)
        )
    # Names that the module has not: PyTorch sets nothing for them, and says nothing.
    places = [(*_owner(module, name), value) for name, value in given.items() if name in own]
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for owner, name, table, value in places:
            owner._rebind_tensor(name)
            before.append((table, name, table[name]))
            table[name] = value
        yield
    finally:
        for table, name, value in reversed(before):
            table[name] = value
        if modes.current.capture is None:
            modes.epoch.advance()


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the given tensors in the place of its own.

    Args:
      tie_weights: give the same tensor to every name of a shared one.
      strict: RuntimeError unless all names are there and no other.
    """
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use torch.func.functional_call instead which is a drop-in replacement "
        "for this API.",
        FutureWarning,
        stacklevel=2,
    )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with reparametrized(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))
