"""Selective checkpoints against PyTorch's: what the policy is asked, gradients, errors."""

import functools

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


NAMES = ("mm", "relu", "sin")


def operands(library):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((4, 4), dtype=np.float32) for _ in range(2)]
    return [library.from_numpy(a).requires_grad_() for a in arrays]


def run(library, policy):
    """The gradient through a region, and what the policy was asked in its first run."""
    tools, aten, asked = library.utils.checkpoint, library.ops.aten, []
    x, w = operands(library)

    def told(context, op, *args, **kwargs):
        if not context.is_recompute:
            asked.append(next(n for n in NAMES if op == getattr(aten, n).default))
        keeps = tools.CheckpointPolicy.MUST_SAVE, tools.CheckpointPolicy.PREFER_RECOMPUTE
        return keeps[op != aten.mm.default]

    chosen = told if policy == "function" else [getattr(aten, name).default for name in policy]
    contexts = functools.partial(tools.create_selective_checkpoint_contexts, chosen)
    y = tools.checkpoint(
        lambda x: region(library, x, w), x, use_reentrant=False, context_fn=contexts
    )
    y.sum().backward(retain_graph=True)
    if policy:  # where nothing was kept, a second run finds all it needs
        with pytest.raises(RuntimeError, match="backward an extra time"):
            y.sum().backward()
    else:
        y.sum().backward()
    return asked, x.grad.numpy(), w.grad.numpy()


def region(library, x, w):
    return library.sin(library.mm(x.sin(), w)).relu()


@pytest.mark.parametrize("policy", ["function", ["mm"], ["sin", "mm"], []], ids=str)
def test_gradients_and_questions(policy):
    asked, *found = run(torchlike, policy)
    expected_questions, *expected = run(torch, policy)
    assert asked == expected_questions
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [[1], "mm", None])
def test_errors(bad):
    with pytest.raises((TypeError, ValueError)) as expected:
        torch.utils.checkpoint.create_selective_checkpoint_contexts(bad)
    with pytest.raises(type(expected.value)):
        torchlike.utils.checkpoint.create_selective_checkpoint_contexts(bad)
