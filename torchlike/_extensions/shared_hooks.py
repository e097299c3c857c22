"""Tables of hooks on all modules or all optimizers: a compiled program is for those it met."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

#: Every such table: {id: hook}.
TABLES: list[OrderedDict[int, Any]] = []


def new_table() -> OrderedDict[int, Any]:
    """Return a new table, which programs compare with what it was when they were captured."""
    TABLES.append(OrderedDict())
    return TABLES[-1]
