"""Optimizer: parameter groups, state, and what every optimizer shares."""

from __future__ import annotations

import copy
import functools
import itertools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import jax

from torchlike._core import errors, modes
from torchlike._core.errors import JitCaptureError
from torchlike._core.tape import RemovableHandle
from torchlike._extensions import shared_hooks
from torchlike._runtime import late_checks
from torchlike.autograd.backward import zero_gradient
from torchlike.autograd.grad_mode import enable_grad, no_grad
from torchlike.optim.helpers import *  # noqa: F403 - PyTorch's optimizers stand in this file
from torchlike.tensor import Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_HOOKS_TEXT = """
step_pre step_post state_dict_pre state_dict_post load_state_dict_pre load_state_dict_post
"""
_HOOKS = tuple(_HOOKS_TEXT.split())
#: Hooks on the steps of all optimizers.
_everywhere: dict[str, dict[int, Any]] = {
    "step_pre": shared_hooks.new_table(),
    "step_post": shared_hooks.new_table(),
}


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer."""
    modes.table_changes(Optimizer, _everywhere["step_pre"], "the hooks of all optimizers")
    return RemovableHandle.on(_everywhere["step_pre"], hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    modes.table_changes(Optimizer, _everywhere["step_post"], "the hooks of all optimizers")
    return RemovableHandle.on(_everywhere["step_post"], hook)


class Optimizer:
    """Base class of optimizers.

    Args:
      params: tensors, (name, tensor) pairs, or dictionaries of groups with their own options.
      defaults: hyperparameters for groups that do not give them.

    Raises:
      TypeError: ``params`` is a tensor, or holds what is no tensor.
      ValueError: no parameters, one that is no leaf, or one that stands in two groups.

    Example:
      >>> class Descent(torch.optim.Optimizer):
      ...     def __init__(self, params, lr):
      ...         super().__init__(params, {"lr": lr})
      ...
      ...     @torch.no_grad()
      ...     def step(self, closure=None):
      ...         for group in self.param_groups:
      ...             for p in self.with_gradients(group):
      ...                 p -= group["lr"] * p.grad
      >>> w = torch.nn.Parameter(torch.ones(2))
      >>> w.sum().backward()
      >>> Descent([w], lr=0.5).step()
      >>> w.detach()
      tensor([0.5000, 0.5000])
    """

    param_groups: list[dict[str, Any]]
    state: dict[Any, dict[str, Any]]
    defaults: dict[str, Any]
    #: Whether ``step`` ran at all; a schedule that steps first warns.
    _opt_called: bool = False
    #: A ``step`` set on this object before the last schedule was made for it.
    _step_when_scheduled: Any = None

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    @functools.cached_property
    def _hooks(self) -> dict[str, dict[int, Any]]:
        """Made when first asked for: a wrapper of an optimizer may never call ``__init__``."""
        return {name: OrderedDict() for name in _HOOKS}

    def _patch_step_function(self) -> None:
        """Do nothing: ``step`` calls its hooks as soon as the class is made."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("step")
        if own is not None and not hasattr(own, "_hooked"):
            cls.step = _with_hooks(own)  # type: ignore[method-assign]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group. ValueError for parameters that are no leaves or already in a group."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        modes.table_changes(
            self, self.param_groups, f"the parameter groups of {type(self).__name__}"
        )
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = list(params)
        named = [isinstance(p, tuple) for p in params]
        if any(named):
            if not all(named):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}"
                )
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        has_names = "param_names" in param_group
        if any(has_names != ("param_names" in group) for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if has_names else 'without'} names to the optimizer"
            )
        if taken & {id(p) for p in params}:
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # -- stepping ----------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros.

        Example:
          >>> w = torch.nn.Parameter(torch.ones(1))
          >>> w.sum().backward()
          >>> torch.optim.SGD([w]).zero_grad()
          >>> w.grad is None
          True
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._set_grad(None)
                elif (held := p._held_grad()) is not None:
                    zero_gradient(held)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters that have a gradient.

        Args:
          closure: recomputes the loss and its gradients.

        Returns:
          what the closure returns; None without one.
        """
        raise NotImplementedError

    _group_tensors_by_device_and_dtype = staticmethod(
        _group_tensors_by_device_and_dtype  # noqa: F405
    )

    @staticmethod
    def loss_of(closure: Callable[[], Any] | None) -> Tensor | None:
        """Return the closure's loss, computed with gradients on; None without a closure.

        For the ``step`` of optimizers that users write.

        Args:
          closure: what ``step`` was given.

        Returns:
          what the closure returns.
        """
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def with_gradients(self, group: dict[str, Any]) -> list[Tensor]:
        """Return the group's parameters that have a gradient.

        Args:
          group: one of ``param_groups``.

        Returns:
          a list of parameters, in the group's order.
        """
        return [p for p in group["params"] if p._held_grad() is not None]

    # -- hooks -------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return self._on("step_pre", hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return self._on("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before the state is saved."""
        return self._on("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on what is saved; it may give another."""
        return self._on("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state is loaded; it may give another."""
        return self._on("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return self._on("load_state_dict_post", hook, prepend)

    def _on(self, kind: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        table: Any = self._hooks[kind]
        modes.table_changes(self, table, f"the hooks of {type(self).__name__}")
        handle = RemovableHandle.on(table, hook)
        if prepend:
            table.move_to_end(next(reversed(table)), last=False)
        return handle

    def _changed(self, kind: str, value: Any) -> dict[Any, Any]:
        """Run the hooks on a state dictionary and return what they make of it."""
        for hook in list(self._hooks[kind].values()):
            changed = hook(self, value)
            value = value if changed is None else changed
        return value

    # -- state -------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return state and groups with parameters replaced by their numbers, as PyTorch lays it
        out.

        Example:
          >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
          >>> optimizer.state_dict()["param_groups"][0]["params"]
          [0]
        """
        for hook in list(self._hooks["state_dict_pre"].values()):
            hook(self)
        numbers: dict[int, int] = {}
        for p in itertools.chain.from_iterable(g["params"] for g in self.param_groups):
            numbers.setdefault(id(p), len(numbers))
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        groups = [
            {
                **{k: v for k, v in g.items() if k != "params"},
                "params": [numbers[id(p)] for p in g["params"]],
            }
            for g in self.param_groups
        ]
        return self._changed("state_dict_post", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state. Raises ValueError when its groups do not fit this optimizer's.

        Differs from PyTorch: copies the tensors. There, later steps write into those of
        ``state_dict``, so that loading it a second time does not go back to where it was saved.

        Example:
          >>> a = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
          >>> b = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
          >>> b.load_state_dict(a.state_dict())
          >>> b.param_groups[0]["lr"]
          0.5
        """
        state_dict = self._changed("load_state_dict_pre", dict(state_dict))
        saved = copy.deepcopy(
            {"state": state_dict["state"], "param_groups": state_dict["param_groups"]}
        )
        groups, saved_groups = self.param_groups, saved["param_groups"]
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, other in zip(groups, saved_groups, strict=True):
            if len(group["params"]) != len(other["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        owners = dict(
            zip(
                itertools.chain.from_iterable(g["params"] for g in saved_groups),
                itertools.chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state: dict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in saved["state"].items():
            p = owners.get(key)
            state[key if p is None else p] = value if p is None else _cast_state(p, value)
        # Names of parameters stay where the state has none. A subclass' own __setstate__ fills in
        # options that older checkpoints of it have not.
        named = [{k: g[k] for k in ("param_names",) if k in g} for g in groups]
        self.__setstate__(
            {
                "state": state,
                "param_groups": [
                    {**names, **other, "params": group["params"]}
                    for names, group, other in zip(named, groups, saved_groups, strict=True)
                ],
            }
        )
        for hook in list(self._hooks["load_state_dict_post"].values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        modes.table_changes(self, self.__dict__, f"the state of {type(self).__name__}")
        self.__dict__.update(state)
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"


def _cast_state(p: Tensor, value: Any, name: Any = None) -> Any:
    """Convert state tensors to the parameter's dtype and device (step counts stay float32)."""
    if isinstance(value, Tensor) and name != "step" and p.is_floating_point():
        return value.to(device=p.device, dtype=p.dtype)
    if isinstance(value, dict):
        return {key: _cast_state(p, one, key) for key, one in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_cast_state(p, one) for one in value)
    return value


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A wrapper around an optimizer, which never called __init__, has no state of its own.
        if not modes.is_capturing():
            late_checks.settle()
        elif "state" in vars(self):
            modes.the_capture().enter_optimizer(self)
        self._opt_called = True
        for hook in [*_everywhere["step_pre"].values(), *self._hooks["step_pre"].values()]:
            result = hook(self, (self, *args), kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{step.__qualname__} must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {result}."
                    )
                (_, *rest), kwargs = result
                args = tuple(rest)
        try:
            loss = step(self, *args, **kwargs)
        except jax.errors.JaxRuntimeError as error:
            raise errors.out_of_memory(error, doing=f"{type(self).__name__}.step()") from None
        for hook in [*self._hooks["step_post"].values(), *_everywhere["step_post"].values()]:
            hook(self, (self, *args), kwargs)
        if modes.current.queue is not None:
            modes.current.queue.flush("an optimizer has stepped")
        return loss

    stepped.__name__, stepped.__doc__ = "step", step.__doc__
    stepped._hooked = True  # type: ignore[attr-defined]
    return stepped


def hyperparameter(
    group: dict[str, Any], name: str, index: int | None = None
) -> Callable[..., Any]:
    """Return a reader of a group's number (one of a pair, with ``index``), which reads it anew at
    each step (and at each run of a program)."""

    def read() -> float:
        value = group[name] if index is None else group[name][index]
        if isinstance(value, Tensor):
            return value._read() if modes.is_capturing() else value.item()
        return float(value)

    read.place = (group, name)  # type: ignore[attr-defined]
    read.given = lambda: group[name] if index is None else group[name][index]  # type: ignore[attr-defined]
    return read


def refuse_capture(what: str) -> None:
    """Raise JitCaptureError while a function is captured."""
    if modes.is_capturing():
        raise JitCaptureError(
            f"{what} changes Python state and would run only once: call it outside the jitted "
            "function, after the step"
        )


def check_range(name: str, value: Any, low: float = 0.0, high: float | None = None) -> None:
    """Raise ValueError in PyTorch's words for a hyperparameter outside ``[low, high)``."""
    number = value if not isinstance(value, Tensor) else float(value)
    if number < low or (high is not None and number >= high):
        raise ValueError(f"Invalid {name}: {value}")


ParamsT = Iterable[Any]
__all__ = ["Optimizer", "no_grad", "required"]
