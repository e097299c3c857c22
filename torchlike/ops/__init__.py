"""``torch.ops``: operators by namespace and name, as PyTorch's dispatcher has them.

Imports `_ops` and below. Begin with ``_aten/``, the overloads of aten; operators of the user's come
from `library`.
"""

import sys as _sys
from typing import Any as _Any

from torchlike._ops.aten.custom import exists as _exists
from torchlike._ops.aten.custom import find as _find
from torchlike._ops.aten.custom import load_library as load_library
from torchlike._ops.aten.custom import loaded_libraries as loaded_libraries
from torchlike.ops._aten.packets import aten as aten


def __getattr__(name: str) -> _Any:
    """Find the operators of a namespace: any name is one, as in PyTorch; with an underscore those
    that have operators."""
    if name.startswith("_") and not _exists(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = _find(name)
    setattr(_sys.modules[__name__], name, found)
    return found
