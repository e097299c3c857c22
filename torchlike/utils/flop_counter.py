"""``torch.utils.flop_counter``: floating-point operations by module and operator."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Self

from torchlike._core import overrides
from torchlike.utils._python_dispatch import TorchDispatchMode
from torchlike.utils.flop_formulas import (
    REGISTRY,
    Formula,
    formula_of,
    on_shapes,
    register_flop_formula,
)
from torchlike.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry = REGISTRY
_SUFFIXES = ("", "K", "M", "B", "T")


class FlopCounterMode:
    """``with FlopCounterMode() as counter:`` counts the operations of the products and convolutions
    that run inside, also in backward passes.

    Args:
      mods: not needed; a warning.
      depth: how many levels of modules the table has.
      display: print the table at the end.
      custom_mapping: packet -> formula, beside those that are registered.

    Differs from PyTorch: attention and recurrent networks, which its CPU build does not count, are
    counted. Jitted functions run eagerly inside.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Callable[..., int]] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        chosen = {
            packet: f if getattr(f, "_get_raw", False) else on_shapes(f)
            for packet, f in (custom_mapping or {}).items()
        }
        self.flop_registry: dict[Any, Formula] = {**REGISTRY, **chosen}
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """Return the number of operations of all modules together."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return module -> packet -> number of operations; "Global" has all of them."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as text: modules down to ``depth`` levels, and their operators."""
        deepest = self.depth if depth is None else depth
        total = self.get_total_flops()
        power = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))

        def rows_of(module: str, indent: str) -> list[tuple[str, str, str]]:
            counts = self.flop_counts[module]
            of = {module: sum(counts.values()), **{f" - {k}": v for k, v in counts.items()}}
            return [
                (
                    indent + name,
                    f"{n / 1000**power:.3f}{_SUFFIXES[power]}",
                    f"{n / total:.2%}" if total else "0%",
                )
                for name, n in of.items()
            ]

        modules = sorted(
            m
            for m in self.flop_counts
            if m != "Global" and (deepest is None or m.count(".") < deepest)
        )
        whole = any(sum(self.flop_counts[m].values()) >= total for m in modules)
        beside = "" if whole else " "
        rows = [] if whole or not total else rows_of("Global", "")
        for module in modules:
            rows += rows_of(module, beside + " " * module.count("."))
        return _table(rows or [("Global", "0", "0%")])

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.mode is not None
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201


def _table(rows: list[tuple[str, str, str]]) -> str:
    header = ("Module", "FLOP", "% Total")
    widths = [max(len(h) + 2, *(len(r[i]) for r in rows)) for i, h in enumerate(header)]
    lines = [header, tuple("-" * n for n in widths), *rows]
    return "\n".join(
        "  ".join((line[0].ljust(widths[0]), *(line[i].rjust(widths[i]) for i in (1, 2))))
        for line in lines
    )


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = formula_of(func.overloadpacket, self.counter.flop_registry)
        if formula is not None:
            count = formula(*args, out_val=result, **kwargs)
            for module in self.counter.mod_tracker.parents:
                self.counter.flop_counts[module][func.overloadpacket] += count
        return result
