"""``torchlike.export``: graphs that run without the code they came from.

``export`` gives an ExportedProgram, a graph of operators; ``save`` and ``load`` keep it in a file.
torch.jit's script, trace, save and load are in ``jit/_script.py`` and ``jit/_trace.py``.
``save_stablehlo`` writes a program for other compilers, ``to_jax`` gives a function of JAX.

Imports `fx`, `serialization` and below. Begin with ``tracing.py`` (a function becomes a graph) and
``program.py`` (what is made of it).
"""

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.export.decompositions import CustomDecompTable, default_decompositions
from torchlike.export.dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from torchlike.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
)
from torchlike.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from torchlike.export.program import export, load, save
from torchlike.export.stablehlo import save_stablehlo
from torchlike.export.to_jax import JaxProgram, to_jax
from torchlike.export.unflatten import FlatArgsAdapter, UnflattenedModule, unflatten
from torchlike.jit import _script as torchscript
from torchlike.serialization.stablehlo.artifact import Unexportable
from torchlike.utils._pytree import register_dataclass

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "JaxProgram",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "Unexportable",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "export",
    "load",
    "register_dataclass",
    "save",
    "save_stablehlo",
    "to_jax",
    "unflatten",
]
globals().update(_unsupported("export"))
