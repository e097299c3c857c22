"""``torchlike.export``: graphs that run without the code they came from.

``export`` gives an ExportedProgram; ``save`` and ``load`` keep it in a file. torch.jit's script,
trace, save and load are in ``torchscript``. ``save_stablehlo`` writes one for other compilers.
"""

from torchlike.export import torchscript as torchscript
from torchlike.export.artifact import Unexportable
from torchlike.export.program import Dim, ExportedProgram, dims, export, load, save
from torchlike.export.stablehlo import save_stablehlo

__all__ = [
    "Dim", "ExportedProgram", "Unexportable", "dims", "export", "load", "save", "save_stablehlo",
]  # fmt: skip
