"""``torch.export.export`` with a specification of ``dynamic_spec`` instead of ``Dim``."""

import io

import pytest

import torchlike as torch
from torchlike._dynamo.exc import UserError
from torchlike.export import export, load, save
from torchlike.export.dynamic_shapes import jax_shapes
from torchlike.fx.experimental.dynamic_spec import (
    IntVar,
    SeqSpec,
    ShapesSpec,
    ShapeVar,
    TensorSpec,
    dynamic_spec,
)
from torchlike.fx.experimental.proxy_tensor import make_fx

A, B = ShapeVar("a"), ShapeVar("b", min=2, max=8)


class Both(torch.nn.Module):
    def forward(self, x, y):
        return x.sum() + y.sum(), x * 2


class Times(torch.nn.Module):
    def forward(self, x, n):
        return x * n


def of(*sizes):
    return torch.ones(sizes)


def through_a_file(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file).module()


SPEC = ShapesSpec(
    {"x": TensorSpec([B, None]), "y": TensorSpec([2 * B, 3])}, assumptions=[(B % 2 == 0) & (B > 1)]
)


@pytest.mark.parametrize("form", [lambda p: p.module(), through_a_file])
def test_a_program_checks_what_is_specified(form):
    program = form(export(Both(), (of(4, 3), of(8, 3)), dynamic_shapes=SPEC))
    assert program(of(6, 3), of(12, 3))[0] == 54
    for sizes, words in {
        (10, 20): r"x.size\(\)\[0\] <= 8",
        (6, 11): r"y.size\(\)\[0\] == 2\*x.size\(\)\[0\]",
        (5, 10): r"mod\(x.size\(\)\[0\], 2\) == 0",
        (1, 2): "Guard failed",
    }.items():
        with pytest.raises(AssertionError, match=words):
            program(of(sizes[0], 3), of(sizes[1], 3))


def test_the_least_size_is_meant():
    program = export(
        Both(), (of(4, 3), of(8)), dynamic_shapes=ShapesSpec({"x": TensorSpec([B, 3])})
    )
    with pytest.raises(AssertionError, match=r"x.size\(\)\[0\] >= 2"):
        program.module()(of(1, 3), of(8))


def test_ints_and_parts_of_lists():
    n = IntVar("n", min=0, max=9)
    program = export(Times(), (of(2), 4), dynamic_shapes=ShapesSpec({"n": n})).module()
    assert program(of(2), 5).sum() == 10
    with pytest.raises(AssertionError, match="n <= 9"):
        program(of(2), 11)

    class First(torch.nn.Module):
        def forward(self, xs):
            return xs[0] * 2

    spec = ShapesSpec({"xs": SeqSpec([TensorSpec([A])])})
    program = export(First(), ([of(3), of(4)],), dynamic_shapes=spec).module()
    assert program([of(5), of(4)]).sum() == 10
    with pytest.raises(AssertionError, match="Guard failed"):
        program([of(5), of(5)])


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ({"x": TensorSpec([B, 4])}, ValueError, "dim 1 as static with value 4, but got 3"),
        ({"x": TensorSpec([B])}, ValueError, "TensorSpec has 1 dims but tensor"),
        ({"z": TensorSpec([B])}, ValueError, r"ParamsSpec has entries \['z'\] that do not match"),
        ({"x": B}, ValueError, "spec is ShapeVar .scalar spec. but the actual arg is Tensor"),
        ({"x": SeqSpec([B])}, ValueError, "SeqSpec expected list/tuple, got Tensor"),
        ({"y": TensorSpec([B * 2, 3])}, ValueError, "reference unbound IntVar"),
        ({"x": TensorSpec([A * B, A]), "y": TensorSpec([B, 3])}, NotImplementedError, "a#.*b#"),
        ({"x": TensorSpec([ShapeVar("c", max=2), 3])}, UserError, "Constraints violated .c."),
    ],
)
def test_what_does_not_fit(spec, error, words):
    with pytest.raises(error, match=words):
        export(Both(), (of(4, 3), of(8, 3)), dynamic_shapes=ShapesSpec(spec))


def test_what_is_attached_and_what_has_no_symbols():
    class Attached(torch.nn.Module):
        @dynamic_spec({"x": TensorSpec([A])})
        def forward(self, x):
            return x + 1

    assert export(Attached(), (of(3),)).module()(of(4)).sum() == 8
    with pytest.raises(ValueError, match="Both `@dynamic_spec"):
        export(Attached(), (of(3),), dynamic_shapes={"x": None})
    either = ShapesSpec({"x": TensorSpec([A, 3])}, assumptions=[(A > 3) | (A < 2)])
    with pytest.raises(NotImplementedError, match="is no comparison"):
        export(Both(), (of(4, 3), of(8, 3)), dynamic_shapes=either)
    with pytest.raises(NotImplementedError, match="does not check them"):
        jax_shapes(SPEC, Both(), (of(4, 3), of(8, 3)), {})
    with pytest.raises(NotImplementedError, match="tracing_mode"):
        make_fx(lambda x: x, dynamic_shapes={"x": TensorSpec([A])})
