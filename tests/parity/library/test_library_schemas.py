"""Schemas of operators against PyTorch's: inferred, read and written."""

from collections.abc import Sequence

import pytest
from library_cases import BOTH, said

import torchlike

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
]


def functions(t):
    tensor = t.Tensor

    def every(
        x: tensor,
        y: tensor | None,
        z: Sequence[tensor],
        a: int,
        b: float = 1.5,
        c: str = "x",
        d: bool = True,
        *,
        e: Sequence[int],
        f: float | None = None,
        g: t.dtype | None = None,
        h: t.device | None = None,
        i: int | float | bool = 1,
    ) -> tuple[tensor, int]:
        raise AssertionError

    def lists(
        x: list[tensor],
        y: list[tensor | None],
        z: list[float],
        w: list[bool] | None = None,
        v: "int | None" = None,
        dtype: t.dtype = t.float32,
    ) -> list[tensor]:
        raise AssertionError

    def nothing(x: tensor) -> None:
        raise AssertionError

    def no_annotation(x): ...
    def no_result(x: tensor): ...
    def star(*x: tensor) -> None: ...

    return {f.__name__: f for f in (every, lists, nothing, no_annotation, no_result, star)}


@pytest.mark.parametrize("function", functions(torchlike))
@pytest.mark.parametrize("mutates", [(), ("x",), "unknown", ("a",), ("q",)])
@pytest.mark.parametrize("options", [{}, {"op_name": "ns::op"}])
def test_inferred_schemas(function, mutates, options):
    mine, theirs = (
        said(
            lambda t=t: t.library.infer_schema(
                functions(t)[function], mutates_args=mutates, **options
            )
        )
        for t in BOTH
    )
    if isinstance(theirs, tuple):  # the signatures they name are of two frameworks
        mine, theirs = ((kind, text.split(" Got func")[0]) for kind, text in (mine, theirs))
    assert mine == theirs


@pytest.mark.parametrize(
    "schema",
    [
        "(Tensor x, float s=2., *, int[] k=[1, 2]) -> Tensor",
        "(Tensor(a!) x, Tensor? y=None) -> ()",
        '(Tensor[] x, bool f=False, str s="a") -> (Tensor, Tensor[])',
        "(int[2] x) -> int",
        "(Scalar x=1, ScalarType? d=None) -> Tensor",
    ],
)
def test_schemas_are_written_as_they_are_read(schema):
    texts = []
    for t in BOTH:
        called = "same::op" + str(abs(hash(schema)))
        t.library.define(called, schema)
        packet = getattr(t.ops.same, called.removeprefix("same::"))
        names = str(packet), repr(packet), str(packet.default), repr(packet.default)
        texts.append(
            (str(packet.default._schema), packet.overloads(), packet.default.name(), *names)
        )
    assert texts[0] == texts[1]
