"""Counts the operations and bytes of a program, and says which share of a device's peak they are.

A figure stands beside its unit: "f32" products keep all bits of float32, "tf32" are float32 in one
pass, "bf16" are of 16-bit floats. A device that `chips.CHIPS` does not have has no peak known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from torchlike._jit.call.captured_program import CapturedProgram
from torchlike._jit.call.function import JitFunction
from torchlike._runtime import platforms
from torchlike.jit._optimized_module import jit_function_of
from torchlike.porting.plan.chips import CHIPS
from torchlike.porting.plan.flops import flops_of
from torchlike.porting.plan.step import captured

#: Chips by what JAX calls them: names that mean one chip (an H100 is sold with other peaks, too).
_KINDS = {
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA A100-SXM4-40GB": "a100",
    "NVIDIA A100-PCIE-40GB": "a100",
    "NVIDIA A100 80GB PCIe": "a100",
    "TPU v5 lite": "v5e",
    "TPU v5": "v5p",
    "TPU v5p": "v5p",
    "TPU v6 lite": "v6e",
    "TPU7x": "tpu7x",
}
_UNITS = ("bf16", "tf32", "f32")


@dataclass(frozen=True)
class ProgramWork:
    """What a call computes and moves.

    Attributes:
      flops: of products and convolutions, by the unit that computes them.
      bytes: read and written, as XLA counts them; None where it does not say.
    """

    flops: dict[str, int]
    bytes: int | None = None

    @property
    def total(self) -> int:
        """Operations of all units."""
        return sum(self.flops.values())

    def share(self, seconds: float, peak: Mapping[str, float] | None) -> float | None:
        """Return which part of ``seconds`` the device would need at its peak (its MFU); None where
        no peak is known."""
        if peak is None or not seconds or any(unit not in peak for unit in self.flops):
            return None
        return sum(n / peak[unit] for unit, n in self.flops.items()) / seconds


def work_of(
    what: CapturedProgram | Callable[..., Any], *args: Any, platform: str | None = None
) -> ProgramWork:
    """Count what a program does, with its backward pass where that is a part of it; or a call
    ``what(*args)`` of a function. One that is not compiled yet is run once, and traced.

    Args:
      platform: "cpu", "cuda" or "tpu", on which the precision of products depends; by default
        JAX's own.

    Raises:
      ValueError: a compiled function has not run yet, and no arguments are given.
    """
    platform = platform or ("cuda" if platforms.stands_for_gpu() else _platform())
    what = jit_function_of(what)
    if isinstance(what, JitFunction) and not args:
        found = what.program_that_ran()
        if found is None:
            raise ValueError(f"{what} has not run: give arguments, or call it before")
        what = found
    if isinstance(what, CapturedProgram):
        flops = Counter(flops_of(what.equations(), platform))
        if (backward := what.backward_equations()) is not None:
            flops += flops_of(backward, platform)
        return ProgramWork(_by_unit(flops, platform), int(what.cost().bytes_accessed) or None)
    return ProgramWork(_by_unit(Counter(captured(what, args, {}, platform).flops), platform))


def _by_unit(flops: Counter[str], platform: str) -> dict[str, int]:
    # A CPU computes float32 with all bits, whatever is asked for.
    exact = {"tf32": "f32"} if platform == "cpu" else {}
    found: Counter[str] = Counter()
    for unit, n in flops.items():
        found[exact.get(unit, unit)] += int(n)
    return {unit: n for unit, n in found.items() if n}


def _platform() -> str:
    kind = jax.default_backend()
    return "cuda" if kind == "gpu" else kind


def peak_of(said: str | None = None) -> dict[str, float] | None:
    """Return operations a second by unit: of the device that is here, or as ``said``.

    Args:
      said: the name of a chip, "h100"; or "bf16=989e12,f32=67e12"; or one number for all units.

    Raises:
      ValueError: it is none of these.

    Returns:
      None for a device of which no peak is known.
    """
    if said is None:
        device = jax.local_devices()[0]
        name = _KINDS.get(device.device_kind)
        return None if name is None or platforms.stands_for_gpu(device) else CHIPS[name].peak
    if said in CHIPS:
        return CHIPS[said].peak
    try:
        if "=" not in said:
            return dict.fromkeys(_UNITS, _positive(said))
        parts = dict(part.split("=") for part in said.split(","))
        if set(parts) <= set(_UNITS):
            return {unit.strip(): _positive(number) for unit, number in parts.items()}
    except ValueError:
        pass
    raise ValueError(
        f"a peak is a chip's name ({', '.join(CHIPS)}), a number of operations a second, or "
        f"bf16=989e12,f32=67e12 of {', '.join(_UNITS)}; not {said!r}"
    )


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


def told(work: ProgramWork, seconds: float | None, peak: Mapping[str, float] | None) -> str:
    """Say in words what is computed, in which precision, how fast, and at which share of the
    peak."""
    moved = f", {_short(work.bytes)}B moved" if work.bytes else ""
    if not work.total:
        rate = f": {_short(work.bytes / seconds)}B/s" if work.bytes and seconds else ""
        return f"no products or convolutions{moved}{rate}"
    units = ", ".join(f"{_short(n)}FLOP {unit}" for unit, n in work.flops.items())
    if not seconds:
        return units + moved
    rate = f"{units}{moved}: {_short(work.total / seconds)}FLOP/s"
    share = work.share(seconds, peak)
    if share is None:
        return f"{rate}; no peak known (--peak gives it)"
    assert peak is not None
    peaks = ", ".join(f"{_short(peak[unit])}FLOP/s {unit}" for unit in work.flops)
    return f"{rate}, {share:.1%} of the peak ({peaks})"


def _short(n: float) -> str:
    for unit in ("", "k", "M", "G", "T"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} P"
