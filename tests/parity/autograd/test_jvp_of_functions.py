"""What a custom Function's jvp may give, and what is said of anything else."""

from typing import Any

import pytest

import torchlike
from tests.parity.oracle import compare


def pushed(t: Any, forward: Any, jvp: Any, *rest: Any) -> Any:
    """Primal and tangent of each output, for (2, 3) with the tangent (1, 1)."""
    fw = t.autograd.forward_ad
    function = type(
        "Function",
        (t.autograd.Function,),
        {"forward": staticmethod(forward), "jvp": staticmethod(jvp)},
    )
    with fw.dual_level():
        x = fw.make_dual(t.tensor([2.0, 3.0]), t.ones(2))
        outputs = function.apply(x, *rest)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [tuple(fw.unpack_dual(o)) for o in outputs], outputs[0] is x


def _in_place(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def _first(ctx: Any, x: Any) -> Any:
    return x.narrow(0, 0, 1)


JVPS = {
    "in place": (_in_place, lambda ctx, g: g.mul_(2)),
    "in place, the tangent left": (_in_place, lambda ctx, g: g),
    "in place, another tangent": (_in_place, lambda ctx, g: g * 2),
    "in place, no tangent": (_in_place, lambda ctx, g: None),
    "a view": (_first, lambda ctx, g: g.narrow(0, 0, 1)),
    "a view, the tangent of its own memory": (_first, lambda ctx, g: g.narrow(0, 0, 1).clone()),
    "a view, the tangent of another": (_first, lambda ctx, g: g[:1].clone().view_as(g[:1])),
    "as it came": (lambda ctx, x: x, lambda ctx, g: g),
    "as it came, the tangent a view": (lambda ctx, x: x, lambda ctx, g: g.view_as(g)),
    "as it came, a new tangent": (lambda ctx, x: x, lambda ctx, g: g * 2),
}


@pytest.mark.parametrize("name", JVPS)
def test_memory_of_the_tangent(name: str) -> None:
    compare(lambda t: pushed(t, *JVPS[name]))


def _marked(ctx: Any, x: Any, y: Any) -> Any:
    other = y.clone()
    ctx.mark_non_differentiable(other)
    return x.clone(), other


@pytest.mark.parametrize("second", ["none", "a tangent"])
@pytest.mark.parametrize("y", ["marked", "integers"])
def test_outputs_without_a_tangent(y: str, second: str) -> None:
    forward = _marked if y == "marked" else lambda ctx, x, y: (x.clone(), y.clone())

    def jvp(ctx: Any, g: Any, _: Any) -> Any:
        return g, None if second == "none" else g.clone()

    compare(lambda t: pushed(t, forward, jvp, t.tensor([3, 4] if y == "integers" else [3.0, 4.0])))


def _switched_off(t: Any, x: Any) -> Any:
    with t.autograd.forward_ad._set_fwd_grad_enabled(False):
        shift = x**2
    return x**2 - shift


SWITCHED = {
    "inside": lambda t, x: t.func.jvp(lambda x: _switched_off(t, x), (x,), (x,)),
    "inside of two": lambda t, x: t.func.jvp(
        lambda x: t.func.jvp(lambda x: _switched_off(t, x), (x,), (t.ones(2),)), (x,), (x,)
    ),
    "within vmap": lambda t, x: t.vmap(
        lambda x: t.func.jvp(lambda x: _switched_off(t, x), (x,), (x,))
    )(x),
}


@pytest.mark.parametrize("where", SWITCHED)
def test_the_switch_of_forward_mode(where: str) -> None:
    compare(lambda t: SWITCHED[where](t, t.tensor([0.7, -1.0])))


def test_the_switch_outside() -> None:
    def pushed_anyway(t: Any) -> Any:
        forward_ad = t.autograd.forward_ad
        with forward_ad._set_fwd_grad_enabled(False):
            found = t.func.jvp(t.sin, (t.ones(2),), (t.ones(2),))
            return found, forward_ad._is_fwd_grad_enabled()

    compare(pushed_anyway)


def test_as_strided_of_a_dual_of_a_view_is_refused() -> None:
    """Its offsets would count from the view's first element, not from that of the memory."""
    forward_ad = torchlike.autograd.forward_ad
    with forward_ad.dual_level():
        whole = forward_ad.make_dual(torchlike.arange(6.0), torchlike.ones(6))
        assert whole[1:].as_strided((2,), (2,), 0).tolist() == [0.0, 2.0]
        part = forward_ad.make_dual(torchlike.arange(6.0)[1:], torchlike.ones(5))
        with pytest.raises(NotImplementedError, match="whose primal is a view"):
            part.as_strided((2,), (2,), 0)
