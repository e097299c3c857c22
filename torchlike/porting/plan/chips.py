"""The accelerators that programs can be planned for: what each chip has, and who says so.

All figures are for one device as JAX counts them, which for all but TPU7x is a chip. Peaks are of
dense products, without sparsity. `interconnect` is what a device can send to its neighbours, in one
direction, over all its links.
"""

from __future__ import annotations

from dataclasses import dataclass

GB = 10**9
GIB = 1 << 30


@dataclass(frozen=True)
class Chip:
    """One kind of accelerator.

    Attributes:
      name: as a topology names it.
      platform: "tpu" or "cuda".
      memory: bytes of high-bandwidth memory.
      bandwidth: bytes a second from and to it.
      peak: operations a second by the kind of product: "bf16" (also float16), "tf32" (float32 in
        one pass, where there is such a unit), "f32" (all bits).
      interconnect: bytes a second to neighbours.
      source: where the figures are published.
    """

    name: str
    title: str
    platform: str
    memory: int
    bandwidth: float
    peak: dict[str, float]
    interconnect: float
    source: str


_CLOUD = "https://cloud.google.com/tpu/docs"
_NVIDIA = "https://www.nvidia.com/en-us/data-center"


def _tpu(
    name: str, title: str, memory: float, bandwidth: float, bf16: float, links: float, page: str
) -> Chip:
    """Describe a TPU: terabytes and teraflops as its page says; ``links`` in Gbit/s, both
    directions.

    A TPU multiplies bfloat16; float32 of all bits is six such products, of 22 bits three.
    """
    return Chip(
        name,
        title,
        "tpu",
        int(memory * GIB),
        bandwidth * GB,
        {"bf16": bf16 * 1e12, "tf32": bf16 * 1e12 / 3, "f32": bf16 * 1e12 / 6},
        links * GB / 8 / 2,
        f"{_CLOUD}/{page}",
    )


def _gpu(
    name: str,
    title: str,
    memory: float,
    bandwidth: float,
    bf16: float,
    tf32: float,
    f32: float,
    links: float,
    page: str,
) -> Chip:
    """Describe an NVIDIA GPU; ``links`` in GB/s, both directions."""
    return Chip(
        name,
        title,
        "cuda",
        int(memory * GB),
        bandwidth * GB,
        {"bf16": bf16 * 1e12, "tf32": tf32 * 1e12, "f32": f32 * 1e12},
        links * GB / 2,
        f"{_NVIDIA}/{page}",
    )


CHIPS = {
    chip.name: chip
    for chip in (
        _tpu("v5e", "TPU v5e", 16, 819, 197, 1600, "v5e"),
        _tpu("v5p", "TPU v5p", 95, 2765, 459, 4800, "v5p"),
        _tpu("v6e", "TPU v6e (Trillium)", 32, 1640, 918, 3584, "v6e"),
        # Half a chip: JAX counts its two chiplets as two devices.
        _tpu("tpu7x", "TPU7x (Ironwood), one of two chiplets", 96, 3690, 1153.5, 4800, "tpu7x"),
        _gpu("a100", "NVIDIA A100 SXM 80 GB", 80, 2039, 312, 156, 19.5, 600, "a100"),
        _gpu("h100", "NVIDIA H100 SXM 80 GB", 80, 3350, 989, 494, 67, 900, "h100"),
        _gpu("h200", "NVIDIA H200 SXM 141 GB", 141, 4800, 989, 494, 67, 900, "h200"),
        _gpu("b200", "NVIDIA B200 180 GB", 180, 7700, 2250, 1125, 75, 1800, "dgx-b200"),
    )
}
