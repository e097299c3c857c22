"""``torchlike.export``: graphs that run without the code they came from.

``export`` gives an ExportedProgram; ``save`` and ``load`` keep it in a file. torch.jit's script,
trace, save and load are in ``torchscript``. ``save_stablehlo`` writes one for other compilers,
``to_jax`` gives a function of JAX.
"""

from torchlike.export import torchscript as torchscript
from torchlike.export.artifact import Unexportable
from torchlike.export.program import Dim, ExportedProgram, dims, export, load, save
from torchlike.export.stablehlo import save_stablehlo
from torchlike.export.to_jax import JaxProgram, to_jax

__all__ = [
    "Dim", "ExportedProgram", "JaxProgram", "Unexportable", "dims", "export", "load", "save",
    "save_stablehlo", "to_jax",
]  # fmt: skip
