"""``torch.return_types``: the named tuples that functions of several results give."""

from __future__ import annotations

from torchlike._ops.reduce.reduction import RETURN_TYPES as _RETURN_TYPES

#: Every one of them.
all_return_types = list(_RETURN_TYPES.values())

globals().update(_RETURN_TYPES)
