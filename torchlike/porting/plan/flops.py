"""Counts the operations of a program's products and convolutions, from its jaxpr."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from jax import lax

from torchlike._runtime.jax_private.equations import subjaxprs

#: The unit that computes a product of float32 by the precision that it asks for. What asks for none
#: is left to the device: bfloat16 on a TPU, TF32 on a GPU.
_UNITS = {lax.Precision.HIGHEST: "f32", lax.Precision.HIGH: "tf32", lax.Precision.DEFAULT: ""}


def flops_of(jaxpr: Any, platform: str) -> Counter[str]:
    """Count the multiplications and additions of products and convolutions by the unit that
    computes them ("bf16", "tf32", "f32"); loops as often as they run (a ``while`` of unknown length
    once), the dearest branch of a condition."""
    total: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == "dot_general":
            total[_unit(eqn, platform)] += _of_product(eqn)
        elif name == "conv_general_dilated":
            total[_unit(eqn, platform)] += _of_convolution(eqn)
        elif name == "cond":
            branches = [flops_of(branch, platform) for branch in subjaxprs(eqn)]
            total += max(branches, key=lambda found: found.total())
        elif name == "scan":
            (body,) = subjaxprs(eqn)
            turn = flops_of(body, platform)
            total.update({unit: eqn.params["length"] * n for unit, n in turn.items()})
        elif name == "pallas_call":
            cost = eqn.params.get("cost_estimate")
            total["bf16"] += int(cost.flops) if cost is not None else 0
        else:
            for inner in subjaxprs(eqn):
                total += flops_of(inner, platform)
    return total


def _unit(eqn: Any, platform: str) -> str:
    dtype = eqn.invars[0].aval.dtype
    if dtype.itemsize < 4:
        return "bf16"
    precision = eqn.params["precision"]
    said = _UNITS[precision[0]] if isinstance(precision, tuple) else ""
    return said or ("bf16" if platform == "tpu" else "tf32")


def _of_product(eqn: Any) -> int:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    size = math.prod(eqn.invars[0].aval.shape[d] for d in contracted)
    return 2 * size * math.prod(eqn.outvars[0].aval.shape)


def _of_convolution(eqn: Any) -> int:
    """Count the operations of a convolution, without the zeros that dilation puts between elements
    of the input."""
    numbers = eqn.params["dimension_numbers"]
    kernel = eqn.invars[1].aval.shape
    taps = math.prod(kernel[d] for d in numbers.rhs_spec[2:]) * kernel[numbers.rhs_spec[1]]
    holes = math.prod(eqn.params["lhs_dilation"])
    return 2 * taps * math.prod(eqn.outvars[0].aval.shape) // holes
