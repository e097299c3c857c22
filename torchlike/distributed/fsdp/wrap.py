"""Which modules ``FullyShardedDataParallel`` wraps by itself, and wrapping them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torchlike.nn.modules.attention import MultiheadAttention
from torchlike.nn.modules.container import ModuleDict, ModuleList
from torchlike.nn.modules.module import Module

#: Parameters of a module from which on ``size_based_auto_wrap_policy`` wraps it.
_LARGE = int(1e8)


class _ActiveWrapper(threading.local):
    """The wrapper that ``enable_wrap`` said, and its arguments."""

    settings: tuple[Callable[..., Any], dict[str, Any]] | None = None


_active = _ActiveWrapper()


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def transformer_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type]
) -> bool:
    """Wrap modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def lambda_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Wrap modules of which a function says so."""
    return recurse or lambda_fn(module)


def size_based_auto_wrap_policy(
    module: Any,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = _LARGE,
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Wrap modules that have so many parameters that no module inside has been wrapped for."""
    leaf = tuple(force_leaf_modules or (MultiheadAttention,))
    excluded = tuple(exclude_wrap_modules or (ModuleList, ModuleDict))
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, leaf)
    return large and not isinstance(module, excluded)


class _Policy:
    """A policy as an object."""

    def wants(self, module: Any) -> bool | dict[str, Any]:
        """Return whether a module is to be wrapped, or with which arguments of its own."""
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Wrap modules of these classes."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._classes = tuple(module_classes)

    def wants(self, module: Any) -> bool:
        return isinstance(module, self._classes)

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or self.wants(module)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({set(self._classes)})"


class CustomPolicy(_Policy):
    """Wrap modules of which a function says so; a dictionary gives arguments of their own."""

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._function = lambda_fn

    def wants(self, module: Any) -> bool | dict[str, Any]:
        found = self._function(module)
        if not isinstance(found, (bool, dict)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {found}"
            )
        return found


def wrap_children(root: Any, policy: Any, wrapper: Callable[..., Any], ignored: set[int]) -> None:
    """Wrap the modules below ``root`` that the policy wants, from the bottom up."""
    if isinstance(policy, _Policy):
        _by_object(root, policy, wrapper, ignored)
    else:
        _by_function(root, policy, wrapper, ignored)


def _by_object(module: Any, policy: _Policy, wrapper: Any, ignored: set[int]) -> None:
    for name, child in list(module.named_children()):
        if id(child) in ignored:
            continue
        _by_object(child, policy, wrapper, ignored)
        said = policy.wants(child)
        if said is not False:
            setattr(module, name, wrapper(child, **(said if isinstance(said, dict) else {})))


def _by_function(module: Any, policy: Any, wrapper: Any, ignored: set[int]) -> int:
    """Wrap the modules that a policy wants, and return how many parameters were wrapped."""
    wrapped = 0
    for name, child in list(module.named_children()):
        if id(child) in ignored:
            continue
        whole = sum(p.numel() for p in child.parameters())
        inside = 0
        if policy(module=child, recurse=True, nonwrapped_numel=whole):
            inside = _by_function(child, policy, wrapper, ignored)
        if policy(module=child, recurse=False, nonwrapped_numel=whole - inside):
            setattr(module, name, wrapper(child))
            inside = whole
        wrapped += inside
    return wrapped


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Have ``wrap(module)`` wrap with these arguments in a ``with`` block."""
    before = _active.settings
    _active.settings = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _active.settings = before


def wrap(module: Any, **wrap_overrides: Any) -> Module:
    """Wrap the module inside ``enable_wrap``; return it as it is elsewhere."""
    if _active.settings is None:
        return module
    wrapper, kwargs = _active.settings
    return wrapper(module, **{**kwargs, **wrap_overrides})
