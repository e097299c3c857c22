"""The functions of symbolic numbers ask ``__torch_function__``, as in PyTorch.

They stand in a file that lower rooms need, so they are told of here.
"""

from __future__ import annotations

from torchlike._compat import symbolic
from torchlike._extensions.overrides.code_exchange import asks

_TEXT = """sym_int: a
sym_float: a
sym_max: a b
sym_min: a b
sym_not: a
sym_ite: b t f
sym_sum: *args
sym_sqrt: a"""
for _line in _TEXT.splitlines():
    asks(_line)(getattr(symbolic, _line.partition(":")[0]))
