"""Special functions: the namespace ``torch.special`` and its names in ``torch``."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

from torchlike._core.dispatch.registry import NAMESPACES, composite, export, op
from torchlike._core.dispatch.schema import Input, Int, Operand
from torchlike._ops.checks import real_only
from torchlike._ops.elementwise import accurate, subgradients
from torchlike._ops.promotion import in_float32, promoted_float, require_tensor
from torchlike._ops.special import gamma, incomplete_gamma
from torchlike.tensor import Tensor

# Functions that stand elsewhere under another name.
for _public, _own in {
    "expit": "sigmoid",
    "logit": "logit",
    "exp2": "exp2",
    "expm1": "expm1",
    "log1p": "log1p",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "digamma": "digamma",
    "psi": "digamma",
    "gammaln": "lgamma",
    "xlogy": "xlogy",
    "sinc": "sinc",
    "round": "round",
    "i0": "i0",
    "logsumexp": "logsumexp",
    "softmax": "softmax",
    "log_softmax": "log_softmax",
}.items():
    export(NAMESPACES[""][_own], _public, ("special",))


def _unary(name: str, fn: Any) -> None:
    fn = in_float32(fn)

    def pure(input: Input):
        (x,) = promoted_float(input)
        return fn(x)

    pure.__doc__ = f"Return ``{name}`` elementwise; integers give the default float dtype."
    kernel = "erf_vml_cpu" if name == "ndtr" else f"{name}_cpu"
    op(name, namespaces=("special",), method=False, elementwise=True)(real_only(kernel)(pure))


for _name, _fn in (
    ("entr", special.entr),
    ("erfcx", subgradients.erfcx),
    ("ndtr", special.ndtr),
    ("ndtri", subgradients.ndtri),
    ("log_ndtr", accurate.log_ndtr),
    ("i0e", special.i0e),
    ("i1", subgradients.i1),
    ("i1e", special.i1e),
):
    _unary(_name, _fn)


def _binary(
    name: str, fn: Any, namespaces: tuple[str, ...], numbers: Any = False, **facts: Any
) -> Any:
    kind = Operand if numbers else Input

    def pure(input: kind, other: kind):  # type: ignore[valid-type]
        require_tensor(name, input, other)
        return fn(*promoted_float(input, other))

    pure.__annotations__.update(input=kind, other=kind)

    pure.__doc__ = f"Return ``{name}(input, other)`` elementwise, broadcast and promoted."
    made = real_only(f"{name}_cpu")(pure)
    return op(name, namespaces=namespaces, elementwise=True, **facts)(made)


_binary("xlog1py", subgradients.xlog1py, ("special",), True, method=False)
_binary("zeta", gamma.zeta, ("special",), True, method=False)


_igamma = _binary("igamma", incomplete_gamma.igamma, ("",), inplace=True)
_igammac = _binary("igammac", incomplete_gamma.igammac, ("",), inplace=True)
export(_igamma, "gammainc", ("special",))
export(_igammac, "gammaincc", ("special",))


@op(
    "polygamma_op",
    namespaces=(),
    method=False,
    elementwise=True,
    inplace=True,
    grad_name="PolygammaBackward0",
)
@real_only("polygamma")
def polygamma_op(input: Input, n: Int):
    """Return the n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    (x,) = promoted_float(input)
    return in_float32(functools.partial(gamma.polygamma, n))(x)


@composite(namespaces=("", "special"), method=False)
def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """Return the ``n``-th derivative of digamma. RuntimeError for a negative n."""
    return polygamma_op(input, n, out=out)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """Return the ``n``-th derivative of digamma."""
    return polygamma_op(self, n)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """Replace the tensor by its ``n``-th derivative of digamma, in place."""
    return polygamma_op.spec.in_place(self, n)  # type: ignore[attr-defined]


composite("polygamma", namespaces=())(_polygamma_method)
composite("polygamma_", namespaces=())(_polygamma_in_place)


@op("mvlgamma", elementwise=True, inplace=True)
@real_only("arange_cpu")
def mvlgamma(input: Input, p: Int):
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    (x,) = promoted_float(input)
    shifts = -0.5 * np.arange(p)
    constant = p * (p - 1) / 4 * math.log(math.pi)
    total = jnp.sum(special.gammaln(x[..., None] + shifts.astype(x.dtype)), -1)
    return total + jnp.asarray(constant, x.dtype)


export(mvlgamma, "multigammaln", ("special",))
