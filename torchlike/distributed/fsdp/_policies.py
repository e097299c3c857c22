"""What ``fully_shard`` is told: dtypes, and where parameters wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of a module's computation; its parameters keep theirs.

    Args:
      param_dtype: of the gathered parameters and, with ``cast_forward_inputs``, of the floating
        inputs.
      reduce_dtype: of gradients as they are summed over devices; ``param_dtype`` by default.
      output_dtype: of the floating outputs.

    Differs from PyTorch: XLA sums over devices where a gradient is computed, so the sum is in
    ``param_dtype`` there, and in ``reduce_dtype`` from then on.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters wait on their devices."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the host's memory: on a mesh of CPUs they do anyway. ``fully_shard``
    raises NotImplementedError for other devices."""

    pin_memory: bool = True
