"""The derivative of a Dirichlet sample by its concentrations, along the beta marginals.

For a marginal x with the cdf F(x; a, b) it is ``-(dF/da) / p(x)``, divided by ``1 - x`` as
PyTorch's function gives it. dF/da is an integral of ``p(t) (log t - digamma(a) + digamma(a + b))``
up to x, or minus the one from x on, by tanh-sinh quadrature on the shorter side (Takahasi
& Mori 1974).

Differs from PyTorch
--------------------
PyTorch approximates it by series to about three digits; here it is exact to six.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Input

_STEPS = np.arange(-36, 37) / 9.0
#: Nodes on (0, 1), and weights.
_INNER = np.pi / 2 * np.sinh(_STEPS)
_NODES = 1 / (1 + np.exp(-2 * _INNER))
_WEIGHTS = np.pi / 2 * np.cosh(_STEPS) / (2 * np.cosh(_INNER) ** 2) / 9.0


def _tail(x: Any, a: Any, b: Any, log_is_of_complement: bool, mean: Any) -> Any:
    """Return ``integral_0^x t^(a-1) (1-t)^(b-1) (log(t or 1 - t) - mean) dt / (x^a (1-x)^(b-1))``.

    With ``t = x u^(1/a)`` the weight at 0 is gone for any a.
    """
    log_u = jnp.log(_NODES) / a[..., None]
    log_t = jnp.log(x)[..., None] + log_u
    log_rest = jnp.log1p(-jnp.exp(log_t))
    ratio = jnp.exp((b[..., None] - 1) * (log_rest - jnp.log1p(-x)[..., None]))
    logs = log_rest if log_is_of_complement else log_t
    return jnp.sum(_WEIGHTS * ratio * (logs - mean[..., None]), -1) / a


@op("_dirichlet_grad", method=False, differentiable=False)
def _dirichlet_grad(x: Input, alpha: Input, total: Input):
    """Return the derivative of each entry of a Dirichlet sample by its concentration, over ``1 -
    x``."""
    kind = x.dtype
    limits = jnp.finfo(kind)
    x, a, total = (v.astype(jnp.float64) for v in (x, alpha, total))
    x = jnp.clip(x, float(limits.tiny), 1 - float(limits.eps) / 2)
    b = total - a
    mean = jax.scipy.special.digamma(a) - jax.scipy.special.digamma(total)
    # Both integrals are over p(x) x (1 - x) but for a factor of x or 1 - x.
    low = -_tail(x, a, b, False, mean) * x / (1 - x)
    high = _tail(1 - x, b, a, True, mean)
    return jnp.where(x < a / total, low, high).astype(kind)
