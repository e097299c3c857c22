"""A product and what is applied to its elements, as one op."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Bool, ComputedFactor, Input
from torchlike._ops.elementwise.activation import gelu, relu
from torchlike._ops.linalg.matmul import addmm


def _in_parts(
    aten: Any, input: Any, mat1: Any, mat2: Any, *, use_gelu: Any = False, **numbers: Any
):
    out = aten.addmm.default(input, mat1, mat2, **numbers)
    return aten.gelu.default(out) if use_gelu else aten.relu.default(out)


@op(autocast="low", decomposition=_in_parts)
def _addmm_activation(
    input: Input,
    mat1: Input,
    mat2: Input,
    *,
    beta: ComputedFactor = 1,
    alpha: ComputedFactor = 1,
    use_gelu: Bool = False,
):
    """Return ``relu(addmm(input, mat1, mat2))``, or with ``use_gelu`` the exact ``gelu`` of it.

    Differs from PyTorch: it has a gradient.
    """
    out = addmm.spec.fn(input, mat1, mat2, beta=beta, alpha=alpha)
    return gelu.spec.fn(out) if use_gelu else relu.spec.fn(out)
