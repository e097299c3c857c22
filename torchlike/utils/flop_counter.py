"""``torch.utils.flop_counter``: counts of arithmetic by module, which are not there.

A counter that is made and never entered answers as PyTorch's does, with zeros: summaries of models
make one for each model.
"""

from __future__ import annotations

from typing import Any, NoReturn

from torchlike._compat.unsupported import Gap, raising

__all__ = ["FlopCounterMode", "register_flop_formula"]

_FLOPS = Gap(
    "ops are not seen one by one while they run",
    "torchlike.jit.explain, which shows what a program computes",
)
register_flop_formula: Any = raising("utils.flop_counter.register_flop_formula", _FLOPS)


class FlopCounterMode:
    """Counts what runs inside of it in PyTorch; here nothing may run inside. Arguments are
    accepted. NotImplementedError when it is entered."""

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None
    ) -> None:
        self.mods, self.depth, self.display = mods, depth, display

    def get_total_flops(self) -> int:
        """0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """No counts, of all modules together."""
        return {"Global": {}}

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            f"torch.utils.flop_counter.FlopCounterMode: {_FLOPS.why}. "
            f"Use instead: {_FLOPS.instead}."
        )

    def __exit__(self, *exc: object) -> None:
        """Never reached."""
