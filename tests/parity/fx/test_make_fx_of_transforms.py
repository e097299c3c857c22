"""``make_fx`` of functions that differentiate: the graph holds the derivative, not its value."""

from typing import Any

import pytest

import torchlike
from tests.parity.oracle import compare


def _scalar(x: Any) -> Any:
    return (x.sin() * x).sum()


def _pulled_back(t: Any, x: Any) -> Any:
    output, vjp_fn = t.func.vjp(t.sin, x)
    return vjp_fn(t.ones_like(output) * 2)[0]


DERIVATIVES = {
    "grad": lambda t, x: t.func.grad(_scalar)(x),
    "grad of grad": lambda t, x: t.func.grad(lambda x: t.func.grad(_scalar)(x).sum())(x),
    "grad and value": lambda t, x: t.func.grad_and_value(_scalar)(x),
    "aux": lambda t, x: t.func.grad(lambda x: (_scalar(x), x * 2), has_aux=True)(x),
    "vjp": _pulled_back,
    "jacobian": lambda t, x: t.autograd.functional.jacobian(t.sin, x),
}


def _traced(t: Any, function: Any, example: Any) -> Any:
    make_fx = pytest.importorskip(f"{t.__name__}.fx.experimental.proxy_tensor").make_fx
    return make_fx(function)(example)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_of_other_values(name: str) -> None:
    def run(t: Any) -> Any:
        graph = _traced(t, lambda x: DERIVATIVES[name](t, x), t.tensor([0.1, 0.2, 0.3]))
        return graph(t.tensor([1.0, 2.0, 3.0]))

    compare(run)


def _tangent(x: Any) -> Any:
    forward_ad = torchlike.autograd.forward_ad
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(x, x).sin()).tangent


REFUSED = {
    "vmap": lambda x: torchlike.vmap(torchlike.sin)(x),
    "jvp": lambda x: torchlike.func.jvp(torchlike.sin, (x,), (x,)),
    "forward_ad": _tangent,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_a_constant_is_refused(name: str) -> None:
    with pytest.raises(NotImplementedError, match="make_fx of vmap, jvp and forward_ad"):
        _traced(torchlike, REFUSED[name], torchlike.ones(3))


def test_a_graph_from_outside_is_refused() -> None:
    _, vjp_fn = torchlike.func.vjp(_scalar, torchlike.ones(3))
    with pytest.raises(NotImplementedError, match="outside of the traced function"):
        _traced(torchlike, lambda c: vjp_fn(c)[0], torchlike.tensor(1.0))
