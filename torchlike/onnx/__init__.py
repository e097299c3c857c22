"""``torch.onnx``: export through jax2onnx, a converter from JAX's programs to ONNX.

The converter is an optional package (``pip install 'torchlike[onnx]'``). The model is captured as
``torchlike.jit`` captures it, without gradients, and its weights become initializers of the graph.

Imports `_jit`, `serialization` and below. Begin with this file; ``operators.py`` has what the
converter lacks.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from torchlike import autograd
from torchlike._jit.call.function import JitFunction
from torchlike._jit.guards.sources import ArgumentCell
from torchlike._jit.trace.outputs import Template
from torchlike._runtime import whole_files
from torchlike._runtime.trees import flatten_call
from torchlike.onnx import symbolic_helper as symbolic_helper
from torchlike.onnx import symbolic_opset11 as symbolic_opset11
from torchlike.serialization.stablehlo.artifact import Unexportable
from torchlike.tensor import Tensor

#: Arguments of PyTorch's exporter that choose between ways it has and this one has not.
_WITHOUT_EFFECT_TEXT = """
artifacts_dir autograd_inlining do_constant_folding dump_exported_program dynamo export_params
fallback keep_initializers_as_inputs optimize profile report training verbose verify
"""
_WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT_TEXT.split())


def is_in_onnx_export() -> bool:
    """Return False: nothing of a model runs differently for an export."""
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Do nothing: an operator is exported as what its kernel computes."""


class ONNXProgram:
    """An exported model: ``model_proto``, and ``save``."""

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: Any) -> None:
        """Write to a path or a binary file."""
        data = self.model_proto.SerializeToString()
        whole_files.write_to(destination, data)


def export(
    model: Callable[..., Any],
    args: Any = (),
    f: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    **options: Any,
) -> ONNXProgram:
    """Export a module or function called with example arguments, in the mode (eval) that it is in.

    Args:
      args, kwargs: example arguments; the tensors among them are the graph's inputs, in order.
      f: a path or a binary file to write to.
      input_names, output_names: names in the graph.
      opset_version: 23 unless given.

    Raises:
      NotImplementedError: jax2onnx is not installed or has no form for an operation; dynamic
        shapes. torchlike.export.save_stablehlo writes every program, for IREE and others.
      Unexportable: the model writes state, draws random numbers or returns no tensor.

    Differs from PyTorch: shapes are fixed, and the operators are those that XLA's become. Arguments
    that choose among PyTorch's exporters are accepted and have no effect.
    """
    for name, value in options.items():
        if name in ("dynamic_axes", "dynamic_shapes"):
            if value:
                raise NotImplementedError(
                    f"torch.onnx.export: {name}. Export once for each shape instead"
                )
        elif name not in _WITHOUT_EFFECT:
            raise TypeError(f"export() got an unexpected keyword argument '{name}'")
    try:
        converter: Any = importlib.import_module("jax2onnx")
    except ModuleNotFoundError as error:
        raise NotImplementedError(
            "torch.onnx.export needs jax2onnx (pip install 'torchlike[onnx]'). Without it use "
            "torchlike.export.save_stablehlo, which IREE compiles"
        ) from error
    given = (args,) if isinstance(args, Tensor) else tuple(args)
    fn, arrays = _pure(model, given, dict(kwargs or {}))
    version = {} if opset_version is None else {"opset": opset_version}
    try:
        proto = converter.to_onnx(
            fn,
            [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays],
            model_name=getattr(model, "__name__", type(model).__name__),
            input_names=input_names,
            output_names=output_names,
            enable_double_precision=any(a.dtype == np.float64 for a in arrays),
            **version,
        )
    except NotImplementedError as error:
        raise NotImplementedError(
            f"torch.onnx.export: jax2onnx has no ONNX form for an operation of the model ({error})."
            " Use torchlike.export.save_stablehlo, which IREE compiles"
        ) from error
    program = ONNXProgram(proto)
    if f is not None:
        program.save(f)
    return program


def _pure(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return the model as a function from arrays to arrays, and the example arguments' arrays."""

    # Copies: an argument that is a view would bring the shape of its base along.
    def copied(x: Any) -> Any:
        return x.detach().clone() if isinstance(x, Tensor) else x

    args = tuple(map(copied, args))
    kwargs = {name: copied(x) for name, x in kwargs.items()}
    compiled = JitFunction(model)
    with autograd.no_grad():
        compiled(*args, **kwargs)
    program = compiled.program_that_ran()
    if program is None or program.updates or program.has_per_call_values:
        raise Unexportable(
            "the model writes state or draws random numbers: call model.eval() before"
        )
    tensors = [x for x in flatten_call(args, kwargs)[0] if isinstance(x, Tensor)]
    results = [output for output in program.new_results if output is not None]
    if not results or len(results) != len(program.new_results):
        raise Unexportable("the model must return tensors that it made")
    held = program.values(tensors)
    place = {
        source.position: i
        for i, source in enumerate(program.sources)
        if isinstance(source, ArgumentCell)
    }

    def fn(*arrays: Any) -> Any:
        inputs = list(held)
        for argument, i in place.items():
            inputs[i] = arrays[argument]
        outputs = program.run(inputs)
        found = [outputs[i] for i in results]
        return found[0] if len(found) == 1 else found

    return fn, [t._read() for t in tensors]
