"""Hooks of modules: what runs before and after ``forward`` and around a module's backward."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.tape import RemovableHandle
from torchlike._extensions import shared_hooks
from torchlike.autograd.function import Function
from torchlike.tensor import Tensor

Hook = Callable[..., Any]


class _GlobalHooks:
    """Hooks common to all modules, by kind."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, Hook] = shared_hooks.new_table()
        self.forward: OrderedDict[int, Hook] = shared_hooks.new_table()
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always: dict[int, bool] = {}
        self.backward_pre: OrderedDict[int, Hook] = shared_hooks.new_table()
        self.backward: OrderedDict[int, Hook] = shared_hooks.new_table()
        self.backward_is_full: bool | None = None
        self.on_parameter: OrderedDict[int, Hook] = OrderedDict()
        self.on_buffer: OrderedDict[int, Hook] = OrderedDict()
        self.on_module: OrderedDict[int, Hook] = OrderedDict()

    def around_calls(self) -> Any:
        """Return the global hooks around calls: falsy where there are none."""
        return self.forward_pre or self.forward or self.backward_pre or self.backward


everywhere = _GlobalHooks()


def registered(table: dict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """Return what the registration hooks make of a value that is about to be registered."""
    for hook in list(table.values()):
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


# -- a call with hooks -----------------------------------------------------------------------------


def call(module: Any, forward: Hook, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``forward(*args, **kwargs)`` with the module's hooks and the global ones around it."""
    called: set[int] = set()
    result: Any = None
    try:
        args, kwargs = _before(module, args, kwargs)
        boundary = _Boundary.of(module)
        if boundary is not None:
            args = boundary.enter(args)
        result = forward(*args, **kwargs)
        for number, hook, with_kwargs, _ in _forward_hooks(module):
            called.add(number)
            changed = (
                hook(module, args, kwargs, result) if with_kwargs else (hook(module, args, result))
            )
            if changed is not None:
                result = changed
        if boundary is not None:
            result = boundary.leave(result)
        _watch_outputs(module, args, result)
        return result
    except Exception:
        for number, hook, with_kwargs, always in _forward_hooks(module):
            if not always or number in called:
                continue
            try:
                changed = (
                    hook(module, args, kwargs, result)
                    if with_kwargs
                    else (hook(module, args, result))
                )
                if changed is not None:
                    result = changed
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}"
                )
        raise


def _before(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    with_kwargs = module._forward_pre_hooks_with_kwargs
    for number, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if number in with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(module: Any) -> list[tuple[int, Hook, bool, bool]]:
    """Return (id, hook, whether it gets kwargs, whether it is always called) of each forward hook,
    in order."""
    found = [
        (n, h, n in everywhere.forward_with_kwargs, n in everywhere.forward_always)
        for n, h in everywhere.forward.items()
    ]
    with_kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    found += [(n, h, n in with_kwargs, n in always) for n, h in module._forward_hooks.items()]
    return found


# -- backward --------------------------------------------------------------------------------------


class BackwardHookFunction(Function):
    """The identity, whose node is where a module's gradients pass. What has no gradient there has
    zeros, as in PyTorch: hooks see an unused input so."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Any, ...]:
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return gradients


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


class _Boundary:
    """One call's full backward hooks: a node before the module's outputs, one after its inputs.

    Backward meets the outputs' node first (the gradients of the outputs are known), then, when the
    module's own nodes have run, the inputs' node.
    """

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.n_inputs = self.n_outputs = 0
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        #: Shapes and dtypes of tensor inputs that require no grad: PyTorch shows zeros for them.
        self.constants: dict[int, tuple[Any, Any]] = {}

    @classmethod
    def of(cls, module: Any) -> _Boundary | None:
        """Return the boundary that the registered hooks ask for, or None."""
        full: list[Hook] = []
        if everywhere.backward_is_full:
            full += everywhere.backward.values()
        if module._is_full_backward_hook:
            full += module._backward_hooks.values()
        pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
        return cls(module, full, pre) if full or pre else None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.n_inputs = len(args)
        args, self.inputs, node = self._through(args)
        if node is not None:
            self.constants = {
                i: (v.shape, v.dtype)
                for i, v in enumerate(args)
                if isinstance(v, Tensor) and i not in self.inputs
            }
            node.register_hook(self._at_inputs)
        return args

    def leave(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
            return result
        values = _as_tuple(result)
        self.n_outputs = len(values)
        values, self.outputs, node = self._through(values)
        if node is not None:
            node.register_prehook(self._at_outputs)
        return values if isinstance(result, tuple) else values[0]

    @staticmethod
    def _through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
        """Pass the values that require grad through one node; return the values, which ones those
        are, and the node."""
        which = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not which:
            return values, which, None
        passed = BackwardHookFunction.apply(*(values[i] for i in which))
        node = passed[0].grad_fn
        if node is None:  # grad mode is off
            return values, which, None
        replaced = list(values)
        for i, t in zip(which, passed, strict=True):
            replaced[i] = t
        return _like(values, replaced), which, node

    def _at_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        shown = _spread(gradients, self.outputs, self.n_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, shown)
            if changed is None:
                continue
            shown = _checked(_as_tuple(changed), len(shown), "pre hook", "grad_output")
        self.grad_outputs = shown
        if not self.inputs and self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook for more details."
            )
            nothing = (None,) * self.n_inputs
            for hook in self.hooks:
                changed = hook(self.module, nothing, shown)
                if changed is not None and any(g is not None for g in changed):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always "
                        "return None or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(shown[i] for i in self.outputs)

    def _at_inputs(self, grad_inputs: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:
            return None  # the outputs' gradients never came this way
        full = list(_spread(grad_inputs, self.inputs, self.n_inputs))
        for i, (shape, dtype) in self.constants.items():
            full[i] = NAMESPACES[""]["zeros"](shape, dtype=dtype)
        shown = tuple(full)
        for hook in self.hooks:
            changed = hook(self.module, shown, self.grad_outputs)
            if changed is not None:
                shown = _checked(_as_tuple(changed), len(shown), "hook", "grad_input")
        self.grad_outputs = None
        return tuple(shown[i] for i in self.inputs)


def _like(values: tuple[Any, ...], replaced: list[Any]) -> tuple[Any, ...]:
    """Return a tuple of the same class as ``values``: one with named fields is read by their
    names."""
    make = getattr(values, "_make", None)
    return tuple(replaced) if make is None else make(replaced)


def _spread(gradients: tuple[Any, ...], which: list[int], n: int) -> tuple[Any, ...]:
    full: list[Any] = [None] * n
    for i, g in zip(which, gradients, strict=True):
        full[i] = g
    return tuple(full)


def _checked(given: tuple[Any, ...], n: int, kind: str, name: str) -> tuple[Any, ...]:
    if len(given) != n:
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {name}, got {len(given)}, but expected "
            f"{n}"
        )
    return given


def _watch_outputs(module: Any, args: tuple[Any, ...], result: Any) -> None:
    """Register module backward hooks of the old kind on the node of the first output tensor."""
    hooks: list[Hook] = []
    if everywhere.backward_is_full is False:
        hooks += everywhere.backward.values()
    if module._is_full_backward_hook is False:
        hooks += module._backward_hooks.values()
    if not hooks:
        return
    out = result
    while not isinstance(out, Tensor):
        if isinstance(out, dict):
            out = next((v for v in out.values() if isinstance(v, Tensor)), None)
        elif isinstance(out, (tuple, list)) and out:
            out = out[0]
        else:
            return
    if out is None or out.grad_fn is None:
        return
    for hook in hooks:
        out.grad_fn.register_hook(_with_module(hook, module))
    missed = _missed(out.grad_fn, args, _as_tuple(result))
    if missed is not None:
        what, gradients = missed
        warnings.warn(
            f"Using {what} is deprecated and will be removed in future versions. This hook will be "
            f"missing some {gradients}. Please use register_full_backward_hook to get the "
            "documented behavior.",
            FutureWarning,
        )


def _missed(node: Any, inputs: Any, outputs: tuple[Any, ...]) -> tuple[str, str] | None:
    """Return why a hook on ``node`` does not see all gradients of a module, in PyTorch's words, and
    which; None where it sees them."""
    of_module, of_one = "non-full backward hooks on a Module that", "a non-full backward hook when"
    if not all(isinstance(t, Tensor) for t in outputs):
        return f"{of_module} does not return a single Tensor or a tuple of Tensors", (
            "of the grad_output"
        )
    if not all(isinstance(t, Tensor) for t in inputs):
        return f"{of_module} does not take as input a single Tensor or a tuple of Tensors", (
            "of the grad_input"
        )
    if any(t.grad_fn is not None and t.grad_fn is not node for t in outputs):
        return f"{of_one} outputs are generated by different autograd Nodes", "grad_output"
    before = {t.grad_fn for t in inputs if t.grad_fn is not None}
    if before != {behind for behind, _ in node.next_functions}:
        return f"{of_one} the forward contains multiple autograd Nodes", "grad_input"
    return None


def _with_module(hook: Hook, module: Any) -> Hook:
    return lambda grad_inputs, grad_outputs: hook(module, grad_inputs, grad_outputs)


# -- registering -----------------------------------------------------------------------------------


def _add(
    owner: Any,
    table: OrderedDict[int, Hook],
    hook: Hook,
    prepend: bool = False,
    *extra: dict[int, bool],
) -> RemovableHandle:
    whose = "all modules" if owner is everywhere else type(owner).__name__
    for changed in (table, *extra):
        modes.table_changes(owner, changed, f"the hooks of {whose}")
    handle = RemovableHandle.on(table, hook, *extra)
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class Hooks:
    """The part of Module that registers hooks."""

    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _is_full_backward_hook: bool | None

    def _init_hooks(self) -> None:
        self.__dict__.update(
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs={},
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs={},
            _forward_hooks_always_called={},
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
        )

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns replaces the arguments.

        ``with_kwargs``: ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``.
        """
        taking_kwargs = self._forward_pre_hooks_with_kwargs
        handle = _add(self, self._forward_pre_hooks, hook, prepend, taking_kwargs)
        if with_kwargs:
            taking_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; its result replaces the output.

        ``with_kwargs``: ``hook(module, args, kwargs, output)``. ``always_call``: even when an
        exception is raised during the call.
        """
        taking_kwargs, always = self._forward_hooks_with_kwargs, self._forward_hooks_always_called
        handle = _add(self, self._forward_hooks, hook, prepend, taking_kwargs, always)
        if with_kwargs:
            taking_kwargs[handle.id] = True
        if always_call:
            always[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's backward."""
        return _add(self, self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the gradients of the inputs are
        known; what it returns replaces them. RuntimeError beside an old-style hook."""
        return self._register_backward_hook(hook, prepend, full=True)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Register a backward hook of the old kind: on the last node of ``forward`` only. Use
        register_full_backward_hook."""
        return self._register_backward_hook(hook, False, full=False)

    def _register_backward_hook(self, hook: Hook, prepend: bool, full: bool) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        modes.running_capture().write_attribute(self, "_is_full_backward_hook")
        self.__dict__["_is_full_backward_hook"] = full
        return _add(self, self._backward_hooks, hook, prepend)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's ``forward``."""
    return _add(everywhere, everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every module's ``forward``."""
    taking_kwargs, always = everywhere.forward_with_kwargs, everywhere.forward_always
    handle = _add(everywhere, everywhere.forward, hook, False, taking_kwargs, always)
    if with_kwargs:
        taking_kwargs[handle.id] = True
    if always_call:
        always[handle.id] = True
    return handle


def _register_global_backward(hook: Hook, full: bool) -> RemovableHandle:
    if everywhere.backward_is_full is (not full) and everywhere.backward:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    modes.running_capture().write_attribute(everywhere, "backward_is_full")
    everywhere.backward_is_full = full
    return _add(everywhere, everywhere.backward, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in every module's backward."""
    return _register_global_backward(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Register a global backward hook of the old kind; use register_module_full_backward_hook."""
    return _register_global_backward(hook, full=False)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before every module's backward."""
    return _add(everywhere, everywhere.backward_pre, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a parameter is registered anywhere."""
    return _add(everywhere, everywhere.on_parameter, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered anywhere."""
    return _add(everywhere, everywhere.on_buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a module is registered anywhere."""
    return _add(everywhere, everywhere.on_module, hook)
