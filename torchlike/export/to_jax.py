"""`to_jax`: a module as a function of JAX alone, with its parameters as a dictionary of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
from jax import export as jax_export

from torchlike import nn
from torchlike._runtime.trees import flatten_call, unflatten
from torchlike.export.dynamic_shapes import jax_shapes
from torchlike.serialization.stablehlo.artifact import Unexportable, built
from torchlike.serialization.stablehlo.checks import Checks
from torchlike.tensor import Tensor, from_jax


class _Program(NamedTuple):
    exported: Any
    parameters: dict[str, Any]
    buffers: dict[str, Any]
    written: tuple[str, ...]


class JaxProgram(_Program):
    """A module as JAX has it.

    ``exported`` is a ``jax.export.Exported``: its ``call(parameters, buffers, *arrays)`` is a pure
    function, its ``serialize(vjp_order=1)`` bytes for ``jax.export.deserialize``, its
    ``mlir_module()`` StableHLO. ``parameters`` and ``buffers`` are dictionaries of arrays by the
    module's names. ``written`` are the names of buffers that a call gives anew. ``checks``, of a
    program that checks values, says what the words mean that it gives.

    Example:
      >>> program = torchlike.export.to_jax(torch.nn.Linear(3, 2), (torch.ones(1, 3),))
      >>> sorted(program.parameters), program.written, program.checks
      (['bias', 'weight'], (), None)
    """

    checks: Checks | None = None


def to_jax(
    module: nn.Module,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    checks: bool = False,
) -> JaxProgram:
    """Make a module a pure function of JAX, which needs no torchlike to run.

    The function takes the parameters, the buffers, and the arrays among the arguments in their
    order, and gives the module's result with an array for each tensor. In training mode a module
    may write buffers (statistics of BatchNorm): then the function gives ``(result, buffers)``, the
    buffers as they are after the call. It is differentiable as JAX's functions are.

    Lost are Python (branches are those that the example took), numbers and other plain values among
    the arguments (compiled in), the classes of named tuples, hooks, and tensors that are neither
    parameters nor buffers, which are constants.

    Args:
      module: in the mode that is wanted, ``train()`` or ``eval()``.
      args, kwargs: example arguments; of tensors shape and dtype count.
      dynamic_shapes: as for ``torch.export.export``: dimensions that may have any size.
      checks: whether the function checks values as eager operations do (is an index in range?). It
        gives ``(what it gives otherwise, word)``, and ``program.checks.raise_for(word)`` raises
        the eager error, if any. Where a module has nothing to check there is no word, and
        ``program.checks`` is None.

    Returns:
      a `JaxProgram`, which holds the function and the arrays that it takes.

    Raises:
      TypeError: no module.
      Unexportable: a module that draws random numbers (Dropout in training mode), or that writes
        into parameters or arguments.

    Example:
      >>> import jax
      >>> x = torch.ones(2, 3)
      >>> program = torchlike.export.to_jax(torch.nn.Linear(3, 1), (x,))
      >>> def loss(parameters):
      ...     return program.exported.call(parameters, program.buffers, x.jax()).sum()
      >>> jax.grad(loss)(program.parameters)["weight"]
      Array([[2., 2., 2.]], dtype=float32)
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"to_jax takes a torchlike.nn.Module, not {type(module).__name__}")
    kwargs = {} if kwargs is None else kwargs
    args = tuple([from_jax(a) if isinstance(a, jax.Array) else a for a in args])
    shapes, _ = jax_shapes(dynamic_shapes, module.forward, args, kwargs)
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    parameters = {name: p.detach().clone().jax() for name, p in module.named_parameters()}
    buffers = {name: b.detach().clone().jax() for name, b in module.named_buffers()}
    artifact = built(module, args, kwargs, state, shapes, checks)
    about = artifact.about
    written = _written(about, buffers, type(module).__name__)

    def function(parameters: Any, buffers: Any, *arrays: Any) -> Any:
        values = {**parameters, **buffers}

        def at(where: Any) -> Any:
            kind, what = where
            return values[what] if kind == "state" else arrays[what]

        outputs = artifact.forward.call(*[at(where) for where in about["inputs"]])
        new = {name: outputs[i] for name, i in written.items()}
        values.update(new)
        results = [
            r
            if not isinstance(r, dict)
            else at(r["same"])
            if "same" in r
            else outputs[len(about["written"]) + r["output"]]
            for r in about["results"]
        ]
        result = unflatten(artifact.result, results)
        given = (result, {**buffers, **new}) if written else result
        if artifact.checks_of_forward is None:
            return given
        return given, outputs[len(about["written"]) + about["made"]]

    function.__name__ = type(module).__name__
    leaves, _ = flatten_call(args, kwargs)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    avals = [
        jax.ShapeDtypeStruct(tuple(t.shape if shapes is None else shapes[i]), t.dtype.numpy)
        for i, t in enumerate(tensors)
    ]
    exported = jax_export.export(jax.jit(function), platforms=artifact.forward.platforms)(
        jax.tree.map(_aval, parameters), jax.tree.map(_aval, buffers), *avals
    )
    program = JaxProgram(exported, parameters, buffers, tuple(written))
    program.checks = artifact.checks_of_forward
    return program


def _aval(array: Any) -> Any:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _written(about: Any, buffers: dict[str, Any], name: str) -> dict[str, int]:
    """Return, for each buffer that the program writes, the number of the output with its new value.
    Raises Unexportable for anything else that is written."""
    found = {}
    for i, where in enumerate(about["written"]):
        kind, what = where
        if kind != "state" or what not in buffers:
            raise Unexportable(
                f"{name} writes into its parameters or arguments, which a function "
                "of JAX cannot: return new values"
            )
        found[what] = i
    for what, output in about["slots"]:
        found[what] = len(about["written"]) + output
    return found
