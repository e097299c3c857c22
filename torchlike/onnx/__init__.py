"""``torch.onnx``: export through jax2onnx, a converter from JAX's programs to ONNX.

The converter is an optional package (``pip install 'torchlike[onnx]'``). The model is captured as
for `torchlike.export`, without gradients, and its weights become initializers of the graph.

Imports `export` and below. Begin with this file; ``operators.py`` has what the
converter lacks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from torchlike import nn
from torchlike._runtime import whole_files
from torchlike.export.any_size import CallSizes, fixed, forward_for, tensors_of
from torchlike.export.dynamic_shapes import named_sizes
from torchlike.onnx import axes
from torchlike.onnx import symbolic_helper as symbolic_helper
from torchlike.onnx import symbolic_opset11 as symbolic_opset11
from torchlike.onnx.converter import converting
from torchlike.onnx.data_types import TensorProtoDataType
from torchlike.serialization.stablehlo.artifact import Unexportable
from torchlike.serialization.stablehlo.loaded import state_of
from torchlike.tensor import Tensor

__all__ = ["ONNXProgram", "TensorProtoDataType", "export", "is_in_onnx_export"]

#: Arguments of PyTorch's exporter that choose between ways it has and this one has not.
_WITHOUT_EFFECT_TEXT = """
artifacts_dir autograd_inlining do_constant_folding dump_exported_program dynamo export_params
fallback keep_initializers_as_inputs optimize profile report training verbose verify
"""
_WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT_TEXT.split())


class TrainingMode(enum.IntEnum):
    """The mode in which a model was to be exported. It is exported in the mode that it is in."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """The operators of PyTorch's older exporter. Here there is one kind: what XLA's become."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


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
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> ONNXProgram:
    """Export a module or function called with example arguments, in the mode (eval) that it is in.

    Args:
      args, kwargs: example arguments; the tensors among them are the graph's inputs, in order.
      f: a path or a binary file to write to.
      input_names, output_names: names in the graph.
      opset_version: 23 unless given.
      dynamic_axes: which dimensions may have any size: by an input's name {0: "batch"} or [0, 1].
        Names of outputs are ignored: their sizes follow.
      dynamic_shapes: instead, what ``torch.export.export`` takes, and names ({0: "batch"}).
        Of what has no range said (names, ``dynamic_axes``, ``Dim.DYNAMIC``) the model decides it; a
        warning says which.

    Raises:
      NotImplementedError: jax2onnx is not installed, or has no form for an operation.
        torchlike.export.save_stablehlo writes every program, for IREE and others.
      Unexportable: the model writes state, draws random numbers, returns no tensor, or takes a
        dynamic dimension for one number.
      ValueError: ``dynamic_axes`` name no input, or a dimension that it does not have.

    Differs from PyTorch: the operators are those that XLA's become. Arguments that choose among
    PyTorch's exporters are accepted and have no effect.
    """
    for name in options:
        if name not in _WITHOUT_EFFECT:
            raise TypeError(f"export() got an unexpected keyword argument '{name}'")
    given = (args,) if isinstance(args, Tensor) else tuple(args)
    if len(given) > 0 and isinstance(given[-1], dict) and not kwargs:  # PyTorch's older form
        given, kwargs = given[:-1], given[-1]
    called = dict(kwargs or {})
    if dynamic_axes and dynamic_shapes is None:
        sizes = axes.named(dynamic_axes, input_names, tensors_of(given, called))
    elif dynamic_shapes is not None:
        sizes = named_sizes(axes.with_names(dynamic_shapes), model, given, called)
    else:
        sizes = fixed(given, called)
    fn, avals = _pure(model, given, called, sizes)
    version = {} if opset_version is None else {"opset": opset_version}
    try:
        # Of this thread: the converter turns them off for the process, and int64 would be int32.
        with converting() as converter, jax.enable_x64(True):
            proto = converter.to_onnx(
                fn,
                avals,
                model_name=getattr(model, "__name__", type(model).__name__),
                input_names=input_names,
                output_names=output_names,
                enable_double_precision=any(a.dtype == np.float64 for a in avals),
                **version,
            )
    except ModuleNotFoundError as error:
        raise NotImplementedError(
            "torch.onnx.export needs jax2onnx (pip install 'torchlike[onnx]'). Without it use "
            "torchlike.export.save_stablehlo, which IREE compiles"
        ) from error
    except (NotImplementedError, jax.errors.InconclusiveDimensionOperation) as error:
        raise NotImplementedError(
            f"torch.onnx.export: jax2onnx has no ONNX form for an operation of the model ({error})."
            " Use torchlike.export.save_stablehlo, which IREE compiles"
            f"{', or fixed shapes' if sizes.at_hand else ''}"
        ) from error
    program = ONNXProgram(proto)
    if f is not None:
        program.save(f)
    return program


def _pure(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: CallSizes
) -> tuple[Callable[..., Any], list[jax.ShapeDtypeStruct]]:
    """Return the model as a function from arrays to arrays, its weights constants in it, and what
    it takes."""
    state = state_of(model) if isinstance(model, nn.Module) else {}
    artifact, shapes = forward_for(model, args, kwargs, state, sizes, checks=False)
    about, evaluated = artifact.about, artifact.evaluated
    if about["written"] or about["slots"]:
        raise Unexportable("the model writes state: call model.eval() before")
    results = [r for r in about["results"] if isinstance(r, dict)]
    if not results or len(results) != len(about["results"]) or any("same" in r for r in results):
        raise Unexportable("the model must return tensors that it made")
    assert evaluated is not None

    weights = {name: np.asarray(t._read()) for name, t in state.items()}

    def fn(*arrays: Any) -> Any:
        outputs = evaluated(
            *[
                arrays[what] if kind == "argument" else weights[what]
                for kind, what in about["inputs"]
            ]
        )
        found = [outputs[r["output"]] for r in results]
        return found[0] if len(found) == 1 else found

    dtypes = [t.dtype.numpy for t in tensors_of(args, kwargs)]
    return fn, [jax.ShapeDtypeStruct(*aval) for aval in zip(shapes, dtypes, strict=True)]
