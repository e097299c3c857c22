"""Strategies of hypothesis for tensors, modules with inputs, in-place programs and indices.

They need hypothesis (``pip install 'torchlike[testing]'``). Importing them registers hypothesis's
profile "torchlike": no deadline, since a first call may compile; derandomized where CI is set.
"""

from torchlike.testing.strategies.dtypes import DTYPES, dtypes
from torchlike.testing.strategies.indices import indices
from torchlike.testing.strategies.modules import ModuleCase, modules
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
    "modules",
    "programs",
    "shapes",
    "tensors",
]

register_profile()
