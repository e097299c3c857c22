"""Strategies of hypothesis for tensors, modules with inputs, in-place programs and indices.

They need hypothesis (``pip install 'torchlike[testing]'``). Importing them registers hypothesis's
profile "torchlike": no deadline, since a first call may compile; derandomized where CI is set. And
it has hypothesis print tensors as Python that makes them.
"""

from torchlike.testing.strategies.dtypes import DTYPES, dtypes
from torchlike.testing.strategies.indices import indices
from torchlike.testing.strategies.modules import ModuleCase, module_case, modules
from torchlike.testing.strategies.printing import register_printer
from torchlike.testing.strategies.profile import register_profile
from torchlike.testing.strategies.programs import InPlaceProgram, programs
from torchlike.testing.strategies.tensors import LAYOUTS, SHAPES, shapes, tensors

#: `InPlaceProgram` under the name it had before.
Program = InPlaceProgram

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "SHAPES",
    "InPlaceProgram",
    "ModuleCase",
    "dtypes",
    "indices",
    "module_case",
    "modules",
    "programs",
    "shapes",
    "tensors",
]

register_profile()
register_printer()
