"""What XLA is told of a GPU that is not here: a text protocol buffer of public facts.

XLA's ``GpuTargetConfigProto`` asks for limits of the architecture, which are NVIDIA's "compute
capability" tables (CUDA C++ Programming Guide, Compute Capabilities), and for what a product has:
multiprocessors, clock, caches, memory. Bandwidth and memory come from `chips`.
"""

from __future__ import annotations

from typing import NamedTuple

from torchlike.porting.plan.chips import Chip


class _Architecture(NamedTuple):
    """Limits by compute capability, and what each product has.

    Attributes:
      shared: kilobytes of shared memory of a multiprocessor, and of a block that opts in.
      cache: megabytes of second-level cache.
    """

    capability: tuple[int, int]
    shared: tuple[int, int]
    multiprocessors: int
    ghz: float
    cache: int
    links: int


_OF = {
    "a100": _Architecture((8, 0), (164, 163), 108, 1.41, 40, 12),
    "h100": _Architecture((9, 0), (228, 227), 132, 1.98, 50, 18),
    "h200": _Architecture((9, 0), (228, 227), 132, 1.98, 50, 18),
    "b200": _Architecture((10, 0), (228, 227), 148, 1.965, 126, 18),
}


def target_config(chip: Chip) -> str:
    """Return the target configuration of a chip, as XLA reads it."""
    of = _OF[chip.name]
    major, minor = of.capability
    return f"""
gpu_device_info {{
  name: "{chip.title}"
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  registers_per_block_limit: 65536
  registers_per_core_limit: 65536
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  shared_memory_per_block: 49152
  shared_memory_per_core: {of.shared[0] << 10}
  shared_memory_per_block_optin: {of.shared[1] << 10}
  core_count: {of.multiprocessors}
  fpus_per_core: {64 if major == 8 else 128}
  clock_rate_ghz: {of.ghz}
  l2_cache_size: {of.cache << 20}
  memory_bandwidth: {int(chip.bandwidth)}
  device_memory_size: {chip.memory}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  device_interconnect_info {{ active_links: {of.links} }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
runtime_version {{ major: 13 minor: 0 patch: 0 }}
device_description_str: "{chip.title}"
"""
