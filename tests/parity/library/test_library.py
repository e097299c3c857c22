"""Custom operators against PyTorch's: calls, errors, gradients, what formulas are given."""

import numpy as np
import pytest
from library_cases import BOTH, name, said

from torchlike._runtime import reference

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
]


def scaled(t, called):
    """``sin(x) * s`` as a custom op with a formula that says what it was given."""
    seen = []

    @t.library.custom_op(called, mutates_args=())
    def op(x: t.Tensor, s: float = 2.0) -> t.Tensor:
        return t.sin(x) * s

    @op.register_fake
    def _(x, s=2.0):
        return t.empty_like(x)

    def setup_context(ctx, inputs, output):
        seen.append((len(inputs), inputs[1], ctx.needs_input_grad[:2], tuple(output.shape)))
        ctx.save_for_backward(inputs[0])
        ctx.s = inputs[1]

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * t.cos(x) * ctx.s, None

    return op, backward, setup_context, seen


CALLS = {
    "type": lambda op, x: op(1),
    "number": lambda op, x: op(x, "a"),
    "none": lambda op, x: op(),
    "too many": lambda op, x: op(x, 1.0, 2.0),
    "unknown": lambda op, x: op(x, k=2.0),
    "twice": lambda op, x: op(x, x=x),
    "positional": lambda op, x: op(x, 3.0).tolist(),
    "int for float": lambda op, x: op(x, 3).tolist(),
    "named": lambda op, x: op(s=0.5, x=x).tolist(),
    "meta": lambda op, x: tuple(op(x.to("meta")).shape),
    "name": lambda op, x: op(x).grad_fn.name(),
    "repr": lambda op, x: repr(op),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    called, answers = name(), []
    for t in BOTH:
        op, *_ = scaled(t, called)
        x = t.tensor([0.5, -1.0], requires_grad=True)
        answers.append(said(lambda op=op, x=x: CALLS[call](op, x)))
    if isinstance(answers[1], list):
        np.testing.assert_allclose(*answers, rtol=1e-6)
    else:
        assert answers[0] == answers[1]


def test_formulas():
    called, answers = name(), []
    for t in BOTH:
        op, backward, setup_context, seen = scaled(t, called)
        x = t.tensor([0.5, -1.0], requires_grad=True)
        refused = said(lambda op=op, x=x: op(x).sum().backward())
        op.register_autograd(backward, setup_context=setup_context)
        (op(x, 3.0) * op(x)).sum().backward()
        packet = getattr(t.ops, called.partition("::")[0]).op
        packet(x).sum().backward()
        packet.default(x.detach())
        answers.append((refused, seen, x.grad.numpy()))
    assert answers[0][:2] == answers[1][:2]
    np.testing.assert_allclose(answers[0][2], answers[1][2], rtol=1e-6)


def test_lists_of_tensors():
    called, answers = name(), []
    for t in BOTH:
        seen = []

        @t.library.custom_op(called, mutates_args=())
        def op(x: t.Tensor, xs: list[t.Tensor], k: int = 1) -> tuple[t.Tensor, list[t.Tensor]]:
            return x * k, [x + y for y in xs]

        def setup_context(ctx, inputs, output, seen=seen):
            seen.append((type(inputs[1]), len(inputs[1]), type(output), type(output[1])))

        def backward(ctx, grad, grads):
            return grad + sum(grads), list(grads), None

        op.register_autograd(backward, setup_context=setup_context)
        x, y, z = (t.tensor(float(i), requires_grad=True) for i in range(3))
        first, others = op(x, [y, z * 2], 3)
        (first + others[0] * 5 + others[1]).backward()
        answers.append((seen, [float(v.grad) for v in (x, y, z)], first.item()))
    assert answers[0] == answers[1]


def test_keyword_only_inputs():
    called, answers = name(), []
    for t in BOTH:
        seen = []

        @t.library.custom_op(called, mutates_args=())
        def op(x: t.Tensor, *, s: float, n: int = 2) -> t.Tensor:
            return x * s

        def setup_context(ctx, inputs, keyword_only_inputs, output, seen=seen):
            seen.append((len(inputs), keyword_only_inputs))
            ctx.s = keyword_only_inputs["s"]

        op.register_autograd(lambda ctx, g: g * ctx.s, setup_context=setup_context)
        x = t.tensor(1.0, requires_grad=True)
        op(x, s=4.0).backward()
        answers.append((seen, float(x.grad)))
    assert answers[0] == answers[1]


def test_vmap_rules():
    called, answers = name(), []
    for t in BOTH:
        op, backward, setup_context, _ = scaled(t, called)
        op.register_autograd(backward, setup_context=setup_context)
        seen = []

        @op.register_vmap
        def rule(info, in_dims, x, s=2.0, seen=seen, t=t):
            seen.append((info.batch_size, info.randomness, in_dims[0] is None))
            return t.sin(x) * s, in_dims[0]

        x = t.arange(6.0).reshape(2, 3)
        outputs = [t.vmap(op)(x), t.vmap(op, in_dims=1, out_dims=1)(x)]
        answers.append((seen, outputs))
    assert answers[0][0] == answers[1][0]
    for a, b in zip(answers[0][1], answers[1][1], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-7)


def bad_op(t, which, called):
    custom_op = t.library.custom_op
    if which == "input":
        return custom_op(called, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    if which == "view":
        return custom_op(called, lambda x: x[:1], mutates_args=(), schema="(Tensor x) -> Tensor")
    if which == "twice":
        return custom_op(
            called, lambda x: [x + 1] * 2, mutates_args=(), schema="(Tensor x) -> Tensor[]"
        )
    if which == "number":
        return custom_op(called, lambda x: 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    if which == "int":
        return custom_op(called, lambda x: 3, mutates_args=(), schema="(Tensor x) -> int")
    assert which == "fake"

    def op(x):
        return x + 1

    made = custom_op(called, op, mutates_args=(), schema="(Tensor x) -> Tensor")
    return lambda x: made(x.to("meta"))


@pytest.mark.parametrize("which", ["input", "view", "twice", "number", "int", "fake"])
def test_results_are_checked(which):
    called, answers = name(), []
    for t in BOTH:
        op = bad_op(t, which, called)
        answers.append(said(lambda op=op, t=t: op(t.ones(2))))
    if which in ("input", "view", "twice"):  # the module of the implementation is named
        answers = [
            (kind, text.partition(" (with")[2].partition("): ")[2]) for kind, text in answers
        ]
    if which != "number" or not reference.follows("results of custom_op"):
        assert answers[0] == answers[1]


def test_operators_that_write():
    called, answers = name(), []
    for t in BOTH:

        @t.library.custom_op(called, mutates_args={"x"})
        def op(x: t.Tensor, y: t.Tensor) -> None:
            x.mul_(y)

        x = t.ones(2)
        result = op(x, t.full((2,), 3.0))
        answers.append(
            (
                result,
                x.tolist(),
                str(op.__class__.__name__),
                said(lambda op=op: op.register_autograd(lambda ctx, g: g)),
            )
        )
    assert answers[0] == answers[1]
