"""Library, define, impl, kernels for devices and opcheck against PyTorch's."""

import contextlib

import numpy as np
import pytest
from library_cases import BOTH, name, said

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
]


def test_libraries():
    space, answers = name().partition("::")[0], []
    for t in BOTH:
        lib = t.library.Library(space, "DEF")
        given = [lib.define("foo(Tensor x, int n=2, *, float? s=None) -> Tensor")]
        op = getattr(t.ops, space).foo
        given.append(said(lambda op=op, t=t: op(t.ones(2)))[0])
        lib.impl("foo", lambda x, n=2, *, s=None: x * n, "CompositeImplicitAutograd")
        x = t.ones(2, requires_grad=True)
        op(x, 5).sum().backward()
        given += [
            op(t.ones(2)).tolist(),
            x.grad.tolist(),
            tuple(op(t.ones(2, device="meta")).shape),
        ]
        given.append(repr(t.library.Library(space, "FRAGMENT")))
        given.append(said(lambda t=t: t.library.Library(space, "XX")))
        given.append(said(lambda t=t: t.library.Library(space, "DEF"))[0])
        given.append(said(lambda lib=lib: lib.define("foo(Tensor x) -> Tensor"))[0])
        given.append(said(lambda t=t: getattr(t.ops, space).nope))
        given.append(said(lambda op=op: op.nope))
        given.append(said(lambda t=t: t.library.register_fake(f"{space}::nope", abs)))
        given.append(said(lambda t=t: t.library.define(space, "(Tensor x) -> Tensor")))
        given.append(said(lambda t=t: t.library.define(f"{space}::b", "Tensor x")))
        answers.append(given)
        with contextlib.suppress(AttributeError):
            lib._destroy()
    assert answers[0] == answers[1]


def test_defined_and_implemented_apart():
    called, answers = name(), []
    for t in BOTH:
        t.library.define(called, "(Tensor x, Tensor[] ys, bool flag=True) -> (Tensor, Tensor)")

        @t.library.impl(called, "cpu")
        def op(x, ys, flag=True):
            return x + 1, ys[0] * 2

        @t.library.register_fake(called)
        def fake(x, ys, flag=True, t=t):
            return t.empty_like(x), t.empty_like(ys[0])

        t.library.register_autograd(called, lambda ctx, a, b: (a * 3, [b * 2], None))
        found = getattr(t.ops, called.partition("::")[0]).op
        x, y = (t.ones(2, requires_grad=True) for _ in range(2))
        a, b = found(x, [y], False)
        (a + b).sum().backward()
        shapes = [tuple(r.shape) for r in found(x.to("meta"), [y.to("meta")[:1]])]
        answers.append((a.tolist(), b.tolist(), x.grad.tolist(), y.grad.tolist(), shapes))
    assert answers[0] == answers[1]


def test_kernels_for_devices():
    called, answers = name(), []
    for t in BOTH:

        @t.library.custom_op(called, mutates_args=(), device_types="cuda")
        def op(x: t.Tensor) -> t.Tensor:
            return x.clone()

        given = [said(lambda op=op, t=t: op(t.ones(2)))[0]]

        @op.register_kernel("cpu")
        def on_cpu(x):
            return x + 5

        given.append(op(t.ones(2)).tolist())
        op.register_autocast("cpu", t.bfloat16)
        with t.autocast("cpu"):
            given.append(str(op(t.ones(2)).dtype))
        answers.append(given)
    assert answers[0] == answers[1]


def test_kernels_above_autograd():
    """``Library.impl(…, "Autograd")`` and what is called below it."""
    called, answers = name(), []
    space, short = called.split("::")
    for t in BOTH:

        class Scaled(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, t=t):
                with t._C._AutoDispatchBelowAutograd():
                    return getattr(getattr(t.ops, space), short)(x)

            @staticmethod
            def backward(ctx, g):
                return g * 7

        lib = t.library.Library(space, "FRAGMENT")
        lib.define(f"{short}(Tensor x) -> Tensor", tags=(t.Tag.core,))
        lib.impl(short, lambda x: x * 2, "CPU")
        lib.impl(short, lambda x, made=Scaled: made.apply(x), "Autograd")
        op = getattr(getattr(t.ops, space), short)
        x = t.ones(2, requires_grad=True)
        op(x).sum().backward()
        with t.no_grad():
            given = [x.grad.tolist(), op(x).tolist(), op(t.ones(2)).tolist()]
        given.append([tag.name for tag in op.default.tags])
        given.append(said(lambda lib=lib: lib.impl(short, 3, "CPU"))[0])
        given.append(said(lambda t=t: t.library.Library("prim", "DEF")))
        answers.append(given)
    assert answers[0] == answers[1]


def test_what_an_operator_writes_has_another_version():
    called, answers = name(), []
    for t in BOTH:

        @t.library.custom_op(called, mutates_args=("x", "z"))
        def op(x: t.Tensor, y: t.Tensor, z: list[t.Tensor]) -> None:
            np.sin(x.numpy(), out=x.numpy())

        x, y, z = t.ones(2), t.ones(2), [t.ones(2)]
        before = [v._version for v in (x, y, *z)]
        op(x, y, z)
        answers.append([v._version - n for v, n in zip((x, y, *z), before, strict=True)])
        answers[-1] += [str(x), [tag.name for tag in op._opoverload.tags]]
    assert answers[0] == answers[1]


def test_operators_that_cannot_be_and_the_older_define():
    called, answers = name(), []
    for t in BOTH:
        given = []

        def no_tensors(device: t.device, t=t) -> t.Tensor:
            return t.ones(3)

        first = t.device("cpu:0")

        def defaults(x: t.Tensor, d: t.device = first, e: t.device = "cpu") -> t.Tensor:
            return x.clone()

        def keyword(x: t.Tensor, *, y: t.Tensor) -> t.Tensor:
            return x.clone()

        def make(f, end, t=t, **options):
            return t.library.custom_op(called + end, f, mutates_args=(), **options)

        given.append(said(lambda make=make, f=keyword: make(f, "a")))
        given.append(said(lambda make=make: make(None, "b", schema="(Tensor(a!) x) -> ()")(abs)))
        made = make(
            lambda device, t=t: t.ones(3),
            "c",
            device_types="cpu",
            schema="(Device device) -> Tensor",
        )
        given += [made("cpu").tolist(), said(lambda made=made: made("cuda"))]
        made = make(defaults, "d")._opoverload
        given += [str(made._schema), [str(a.default_value) for a in made._schema.arguments]]
        space = called.partition("::")[0]
        lib = t.library.Library(space, "FRAGMENT")

        @t.library.define(lib, "older(Tensor x) -> Tensor")
        def older(x):
            return x * 3

        given.append(getattr(t.ops, space).older(t.ones(2)).tolist())
        answers.append(given)
    assert answers[0] == answers[1]


# PyTorch 2.14's own check asks for it.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_opcheck():
    called, answers = name(), []
    for t in BOTH:
        check, x = t.library.opcheck, t.ones(2, requires_grad=True)

        @t.library.custom_op(called, mutates_args=())
        def op(x: t.Tensor) -> t.Tensor:
            return x * x

        given = [said(lambda: check(op, (x.detach(),)))[0]]  # noqa: B023
        op.register_fake(lambda x, t=t: t.empty_like(x))
        given += [check(op, (x.detach(),)), said(lambda: check(op, (x,)))[0]]  # noqa: B023

        def keep(ctx, inputs, output):
            (ctx.x,) = inputs

        op.register_autograd(lambda ctx, g: g * 2 * ctx.x, setup_context=keep)
        given += [check(op, (x,)), check(op, (x,), test_utils="test_schema")]
        op.register_fake(lambda x, t=t: t.empty(3))
        wrong = check(op, (x.detach(),), raise_exception=False)
        given.append([k for k, v in wrong.items() if v != "SUCCESS"])

        @t.library.custom_op(called, mutates_args=())
        def hidden(x: t.Tensor) -> t.Tensor:
            x.mul_(2)
            return x * 1

        hidden.register_fake(lambda x, t=t: t.empty_like(x))
        given.append(said(lambda: check(hidden, (x.detach(),)))[0])  # noqa: B023
        answers.append(given)
    assert answers[0] == answers[1]
