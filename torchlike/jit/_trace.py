"""``torch.jit.trace`` and ``trace_module``: compiled for examples, and compared with Python."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from torchlike import nn, random
from torchlike._runtime.trees import flatten
from torchlike.jit._script import (
    ScriptFunction,
    ScriptModule,
    TopLevelTracedModule,
    of_module,
)
from torchlike.random.generator import accelerators
from torchlike.tensor import Tensor

#: Positional and keyword arguments of a call.
_Given = tuple[tuple[Any, ...], dict[str, Any]]


class TracerWarning(Warning):
    """What ``trace`` says of a function whose Python depends on values."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Hear none that name a line of the library."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"torchlike\.(?!jit)")


class TracingCheckError(Exception):
    """The traced function and the original disagree."""


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: Any = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: Any = True,
) -> Any:
    """Compile for example arguments; with ``check_trace`` the result is compared with eager
    execution.

    Differs from PyTorch: a branch on a tensor's value stays in the graph (a TracerWarning says that
    PyTorch would freeze it), and other shapes compile again instead of failing.

    Raises:
      RuntimeError: without example inputs.
      TracingCheckError: the compiled result differs from the eager one.
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_inputs or example_kwarg_inputs must be given")
    args = () if example_inputs is None else _positional(example_inputs)
    kwargs = dict(example_kwarg_inputs or {})
    if isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    is_module = isinstance(func, nn.Module)
    traced = of_module(func, TopLevelTracedModule) if is_module else ScriptFunction(func)
    compiled: Any = getattr(traced, "_script", traced)
    others = [(_positional(a), {}) for a in check_inputs or ()] if check_trace else None
    _first_call(func, traced, compiled, (args, kwargs), others, check_tolerance)
    return traced


def trace_module(
    mod: Any,
    inputs: Any,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: Any = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: Any = True,
) -> Any:
    """Return a module whose methods are compiled for example inputs, by name: ``{"forward": x,
    "other": (a, b)}``. ``check_inputs``: more such dictionaries to compare with eager execution.

    Differs from PyTorch as ``trace`` does. Methods that are not among ``inputs`` stay Python's;
    ``save`` writes forward alone.

    Raises:
      AttributeError: ``mod`` is no module, ``inputs`` no dictionary, or no such method.
      RuntimeError: ``check_inputs`` lacks a method.
      TracingCheckError: a compiled result differs from the eager one.
    """
    if not isinstance(mod, nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, Mapping):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    if isinstance(mod, ScriptModule):
        return mod
    methods = {name: mod if name == "forward" else getattr(mod, name) for name in inputs}
    traced = of_module(mod, TopLevelTracedModule)
    space: Any = type(traced)
    if "forward" not in inputs:
        space.__call__ = space.forward = property(_without_forward)
    for name, given in inputs.items():
        more = [dict(entry.items()) for entry in check_inputs or ()] if check_trace else None
        for entry in more or ():
            if name not in entry:
                raise RuntimeError(f"Method '{name}' is not defined.")
        others = (
            None
            if more is None
            else [_given(entry[name], example_inputs_is_kwarg) for entry in more]
        )
        if name == "forward":
            call, compiled = traced, traced._script
        else:
            call = compiled = ScriptFunction(methods[name])
            setattr(space, name, staticmethod(call))
        example = _given(given, example_inputs_is_kwarg)
        _first_call(methods[name], call, compiled, example, others, check_tolerance)
    return traced


def _without_forward(self: Any) -> Any:
    raise AttributeError(f"'{type(self).__name__}' object has no attribute 'forward'")


def _positional(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _given(inputs: Any, by_name: bool) -> _Given:
    return ((), dict(inputs)) if by_name and isinstance(inputs, dict) else (_positional(inputs), {})


def _first_call(
    func: Any,
    traced: Any,
    compiled: Any,
    example: _Given,
    others: Sequence[_Given] | None,
    tolerance: float,
) -> None:
    """Compile for an example, and compare (unless ``others`` is None) its result and those of the
    others with eager execution."""
    owner = getattr(func, "__self__", func)
    states, buffers = (random.get_rng_state(), accelerators.states()), _buffers(owner)
    function = getattr(compiled, "__func__", compiled)  # a module's class has its function
    function.first_runs.is_over = True
    result = traced(*example[0], **example[1])
    if compiled._tracer.conversion.active:
        warnings.warn(
            f"{compiled._name} branches on a tensor's value. PyTorch's trace would keep the branch "
            "taken for the example inputs; here both stay in the graph.",
            TracerWarning,
            stacklevel=3,
        )
    for more in [] if others is None else [example, *others]:
        _restore(states, buffers)
        found = result if more is example else traced(*more[0], **more[1])
        _restore(states, buffers)
        _compare(func(*more[0], **more[1]), found, tolerance)
    function.first_runs.is_over = False


def _buffers(func: Any) -> list[tuple[Tensor, Tensor]]:
    held = func.buffers() if isinstance(func, nn.Module) else ()
    return [(b, b.detach().clone()) for b in held]


def _restore(states: tuple[Any, Any], buffers: list[tuple[Tensor, Tensor]]) -> None:
    random.set_rng_state(states[0])
    accelerators.restore(states[1])
    for b, before in buffers:
        b.detach().copy_(before)


def _compare(expected: Any, found: Any, tolerance: float) -> None:
    a, b = flatten(expected)[0], flatten(found)[0]
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if isinstance(x, Tensor):
            x, y = x.detach().double().numpy(), y.detach().double().numpy()
            if not np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
                raise TracingCheckError(
                    f"Tracing failed sanity checks! Output nr {i + 1}. of the traced function does "
                    f"not match that of the Python function (largest difference "
                    f"{np.abs(x - y).max():g})"
                )


__all__ = ["TracerWarning", "TracingCheckError", "trace", "trace_module"]
