"""`Call`: one call of a jitted function that no program fits yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchlike.tensor import Tensor

#: The structure and the modes stand before the leaves in a key.
MODES_IN_KEY = 5


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that no program fits."""

    #: Under which the programs that may fit are found.
    key: tuple[Any, ...]
    #: The tensors among the leaves.
    tensors: list[Tensor]
    leaves: list[Any]
    structure: Any
    #: The leaves whose values are no part of the key: traced numbers, and views at any offset.
    traced: Sequence[int]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def given(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments."""
        return self.args, self.kwargs
