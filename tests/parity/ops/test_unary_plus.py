"""``+a`` and ``positive(a)`` are ``a``, the very object."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("act", ["+a", "t.positive(a)", "a.positive()"])
@pytest.mark.parametrize(
    "made",
    [
        "t.ones(2)",
        "t.ones(2, requires_grad=True)",
        "t.tensor([1])",
        "t.ones(2, 2)[0]",
        "t.nn.Parameter(t.ones(2))",
        "t.eye(2).to_sparse()",
        "t.ones(2).as_subclass(S)",
    ],
)
def test_it_is_the_tensor_itself(made: str, act: str) -> None:
    def is_same(t: Any) -> bool:
        subclass = type("S", (t.Tensor,), {})
        a = eval(made, {"t": t, "S": subclass})
        return eval(act, {"t": t, "a": a}) is a

    compare(is_same)


def test_bools_are_refused() -> None:
    compare(lambda t: +t.tensor([True]))


def test_under_transforms() -> None:
    def found(t: Any) -> Any:
        x = t.tensor([1.0, 2.0])
        return t.func.grad(lambda x: (+x * x).sum())(x), t.func.vmap(lambda x: +x)(x)

    compare(found)
