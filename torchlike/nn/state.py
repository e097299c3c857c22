"""A module's state as a dictionary: ``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._core.tape import RemovableHandle
from torchlike._extensions.swap import swap_tensors
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.conversion_switches import get_swap_module_params_on_conversion
from torchlike.nn.parameter import Parameter, is_lazy
from torchlike.tensor import Tensor

#: Under this key (after the module's prefix) stands what ``get_extra_state`` gives.
EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found missing and left over."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if self.missing_keys or self.unexpected_keys:
            return (
                f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
                f"unexpected_keys={self.unexpected_keys!r})"
            )
        return "<All keys matched successfully>"

    __str__ = __repr__


def _annotated(state: Any, metadata: Any) -> Any:
    """Return a plain OrderedDict of the state that also carries each module's version."""
    made = OrderedDict(state)
    if metadata is not None:
        made._metadata = metadata  # type: ignore[attr-defined]
    return made


class _LoadPreHook:
    """A hook on loading that gets its module first. Libraries call what stands in the table."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self._module = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        module = self._module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> Any:
        return self.hook, self._module()

    def __setstate__(self, state: Any) -> None:
        self.hook, module = state
        self._module = weakref.ref(module)


def _exchange(target: Tensor, given: Tensor, assign: bool) -> None:
    """Let ``target`` become what its ``module_load`` makes of ``given``."""
    made: Any = target.module_load(given, assign=assign)  # type: ignore[attr-defined]
    if made is given or made is target:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning "
            "one of the inputs in module_load"
        )
    if isinstance(target, Parameter):
        if isinstance(made, Parameter):
            made.requires_grad_(target.requires_grad)
        else:
            made = Parameter(made, requires_grad=target.requires_grad)
    swap_tensors(target, made)


class _Loading:
    """What one ``load_state_dict`` carries from module to module. No closure: one that calls itself
    would keep the checkpoint's tensors until the garbage collector runs."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.problems: list[str] = []

    def into(self, module: Any, part: Any, prefix: str) -> None:
        """Load ``part``, the entries whose keys begin with ``prefix``, into ``module``."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        found = (self.missing, self.unexpected, self.problems)
        module._load_from_state_dict(part, prefix, local, True, *found)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.into(child, {k: v for k, v in part.items() if k.startswith(below)}, below)
        for hook in list(module._load_state_dict_post_hooks.values()):
            if hook(module, _IncompatibleKeys(self.missing, self.unexpected)) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, "
                    "it should be done inplace."
                )


class StateDicts:
    """The part of Module that saves and loads state."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    def _init_state_hooks(self) -> None:
        self.__dict__.update(
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
        )

    # -- saving ------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Override to save something besides parameters and buffers; see set_extra_state."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to load what get_extra_state saved."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateDicts, name)

    def _own_state(self) -> dict[str, Tensor]:
        """Return this module's parameters and persistent buffers that are not None."""
        own = dict(self._parameters)
        skipped = self._non_persistent_buffers_set
        own.update((k, v) for k, v in self._buffers.items() if k not in skipped)
        return {k: v for k, v in own.items() if v is not None}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state (not its children's) into ``destination``."""
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return the parameters and persistent buffers of this module and all below it, by dotted
        name.

        The values share memory with the module; they are detached unless ``keep_vars``.

        Example:
          >>> list(torch.nn.Linear(3, 2).state_dict())
          ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = _annotated((), OrderedDict())
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, destination, prefix, metadata)
            if changed is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    # -- loading -----------------------------------------------------------------------------------

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state (not its children's); subclasses extend it.

        Problems are appended to the three lists, for ``load_state_dict`` to report together.
        """
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, target, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if self._overrides("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra:
                    continue
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_one(
        self, name: str, key: str, target: Tensor, given: Any, assign: bool
    ) -> str | None:
        """Copy or bind one tensor; gives the problem in words, or None."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
        if is_lazy(target):
            if not assign and not is_lazy(given):
                target.materialize(given.shape)  # type: ignore[attr-defined]
        else:
            if target.is_meta and not given.is_meta and not assign:
                warnings.warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                    "parameter in the current model, which is a no-op. (Did you mean to pass "
                    "`assign=True` to assign items in the state dictionary to their corresponding "
                    "key in the module instead of copying them in place?)",
                    stacklevel=2,
                )
            if target.dim() == 0 and tuple(given.shape) == (1,):
                given = given[0]  # PyTorch before 0.4 had no 0-dim tensors
            if given.shape != target.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {target.shape}."
                )
        try:
            with no_grad():
                if get_swap_module_params_on_conversion():
                    _exchange(target, given, assign)
                    return None
                if not assign:
                    target.copy_(given)
                    return None
                if isinstance(target, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(target.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=target.requires_grad)
                setattr(self, name, given)
                return None
        except Exception as error:
            if modes.is_capturing():
                raise
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{target.size()} and whose dimensions in the checkpoint are {given.size()}, "
                f"an exception occurred : {error.args}."
            )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy state into this module and all below it.

        Args:
          state_dict: as ``state_dict()`` gives it.
          strict: whether missing keys and keys left over are errors.
          assign: bind the given tensors instead of copying their values (an optimizer must then be
            made afterwards).

        Returns:
          a named tuple of ``missing_keys`` and ``unexpected_keys``.

        Raises:
          RuntimeError: with all problems at once: keys, if ``strict``, and shapes.

        Example:
          >>> a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
          >>> b.load_state_dict(a.state_dict())
          <All keys matched successfully>
          >>> torch.equal(a.weight, b.weight)
          True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        loading = _Loading(metadata, assign)
        loading.into(self, _annotated(state_dict, metadata), "")  # a copy: hooks may change it
        problems = loading.problems
        if strict:
            for kind, keys in (("Unexpected", loading.unexpected), ("Missing", loading.missing)):
                if keys:
                    named = ", ".join(f'"{k}"' for k in keys)
                    problems.insert(0, f"{kind} key(s) in state_dict: {named}. ")
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(problems)
            )
        return _IncompatibleKeys(loading.missing, loading.unexpected)

    # -- hooks -------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before state is saved."""
        return self._on(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` afterwards; it may change the
        dictionary in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return self._on(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return self._on(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before a module's own state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        called = _LoadPreHook(hook, self) if with_module else hook
        return self._on(self._load_state_dict_pre_hooks, called)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists."""
        return self._on(self._load_state_dict_post_hooks, hook)

    def _on(self, table: dict[int, Any], hook: Any) -> RemovableHandle:
        modes.table_changes(self, table, f"the hooks on the state of {type(self).__name__}")
        return RemovableHandle.on(table, hook)
