"""Calling a module with other tensors in the place of its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from torchlike._core import modes
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

__all__ = ["functional_call"]


#: In the place of a value where there is none.
_NOTHING: Any = object()


class _Place:
    """Where a module holds a tensor, by dotted name: among its parameters or buffers, or as a plain
    attribute, which need not be there."""

    def __init__(self, module: Module, path: str) -> None:
        prefix, _, self.name = path.rpartition(".")
        if not self.name:
            raise KeyError('tensor name can\'t be empty string ""')
        self.owner = _submodule(module, prefix)
        tables = (self.owner._parameters, self.owner._buffers)
        self.table = next((t for t in tables if self.name in t), None)
        self.before = self.present()

    def present(self) -> Any:
        """Return what the module holds now."""
        for table in (self.owner._parameters, self.owner._buffers):
            if self.name in table:
                return table[self.name]
        return getattr(self.owner, self.name, _NOTHING)

    def put(self, value: Any) -> None:
        """Have the module hold ``value``. TypeError where that, or what it holds, is no tensor."""
        if not (value is None or isinstance(value, Tensor)):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
        if self.table is not None:
            self.owner._rebind_tensor(self.name)
            self.table[self.name] = value
            return
        nothing = self.before is _NOTHING or self.before is None
        if not (nothing or isinstance(self.before, Tensor)):
            raise TypeError(
                f"attribute `{self.name}`: {self.before} is not an instance of torch.Tensor"
            )
        setattr(self.owner, self.name, value)

    def restore(self) -> None:
        """Have the module hold what it held at first, where it held it."""
        if self.table is not None:
            self.table[self.name] = self.before
        elif isinstance(getattr(type(self.owner), self.name, None), property):
            setattr(self.owner, self.name, self.before)
        else:
            own = vars(self.owner)
            for table in (own["_parameters"], own["_buffers"], own):
                table.pop(self.name, None)
            if self.before is not _NOTHING:
                own[self.name] = self.before


def _submodule(module: Module, path: str) -> Module:
    """Return the submodule at a path. Raises AttributeError where there is none, TypeError where
    something else has the name."""
    for name in path.split(".") if path else ():
        found = getattr(module, name, _NOTHING)
        if found is _NOTHING:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if not isinstance(found, Module):
            raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
        module = found
    return module


def _tied(module: Module) -> dict[int, list[str]]:
    """Return the names of each tensor that has more than one, by its id."""
    found: dict[int, list[str]] = {}
    named = (module.named_parameters, module.named_buffers)
    for walk in named:
        for name, tensor in walk(remove_duplicate=False):
            found.setdefault(id(tensor), []).append(name)
    return {k: names for k, names in found.items() if len(names) > 1}


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return ``given`` with the same value under all names of a tensor. Raises ValueError for two
    values of one."""
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
    """Put the given tensors (by dotted name) in the place of the module's own within a `with`
    block, as plain attributes where it has none of that name. What the module binds in their place
    is in ``given`` afterwards."""
    whole = _with_tied(module, given) if tie_weights else given
    if strict:
        _check_names(module, whole)
    places = {path: _Place(module, path) for path in whole}
    changed: list[_Place] = []
    try:
        for path, value in whole.items():
            changed.append(places[path])
            places[path].put(value)
        yield
        for path, value in list(given.items()):
            present = places[path].present()
            if present is not value and present is not _NOTHING:
                given[path] = present
    finally:
        for place in reversed(changed):
            place.restore()
        modes.epoch.advance_if_eager()


def _check_names(module: Module, given: dict[str, Tensor]) -> None:
    """Raise RuntimeError unless all names are there and no other."""
    own = {n for n, _ in module.named_parameters(remove_duplicate=False)}
    own |= {n for n, _ in module.named_buffers(remove_duplicate=False)}
    parts = [
        f"{kind} key(s): {', '.join(map(repr, sorted(keys)))}."
        for kind, keys in (("Unexpected", given.keys() - own), ("Missing", own - given.keys()))
        if keys
    ]
    if parts:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts)
        )


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Tensor:
    """Call ``module(*args, **kwargs)`` with the given tensors in the place of its own.

    Args:
      tie_weights: give the same tensor to every name of a shared one.
      strict: RuntimeError unless all names are there and no other.
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Tensor:
    """Call the module as `functional_call` does, without its warning: libraries use this name for
    that."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> contextlib.AbstractContextManager[None]:
    """Return the context manager of `reparametrized`, under the name that libraries call.
    ``stack_weights`` changes nothing: the order in which the module has its own back matters to
    PyTorch's compiler alone."""
    return reparametrized(module, parameters_and_buffers, tie_weights, strict)
