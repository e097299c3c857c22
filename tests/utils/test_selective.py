"""Selective checkpoints: gradients as without, what is asked and kept, errors; eager and jitted."""

import functools

import pytest

import torchlike as torch
from torchlike.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

F, aten = torch.nn.functional, torch.ops.aten
POLICIES = [[], [aten.addmm.default], [aten.tanh, aten.bmm], [aten.scaled_dot_product_attention]]


def keeping(ops):
    return functools.partial(create_selective_checkpoint_contexts, ops)


def block(x, w, b):
    h = F.linear(x, w, b).tanh()
    h = h @ h.transpose(1, 2) @ h
    h = F.layer_norm(h, h.shape[-1:])
    h.mul_(2)
    return F.scaled_dot_product_attention(h, h, h, is_causal=True)


@pytest.mark.sampled(every=4)
@pytest.mark.usefixtures("compiled_at_once")
@pytest.mark.parametrize("ops", POLICIES, ids=str)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_gradients_are_those_without_it(ops, jitted):
    torch.manual_seed(0)
    operands = [torch.randn(*s, requires_grad=True) for s in ((2, 5, 4), (4, 4), (4,))]

    def gradients(*operands):
        y = checkpoint(block, *operands, use_reentrant=False, context_fn=keeping(ops))
        return torch.autograd.grad(y.square().sum(), operands)

    expected = torch.autograd.grad(block(*operands).square().sum(), operands)
    found = (torch.jit(gradients) if jitted else gradients)(*operands)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_what_the_policy_is_asked():
    asked = []

    def policy(context, op, *operands):
        asked.append((context.is_recompute, op, [tuple(o.shape) for o in operands]))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x, w = torch.ones(3, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    y = checkpoint(
        lambda x: (x.t().t() @ w).sin(), x, use_reentrant=False, context_fn=keeping(policy)
    )
    y.sum().backward()
    product = (False, aten.mm.default, [(3, 2), (2, 2)])
    assert asked == [product, (False, aten.sin.default, [(3, 2)])]


@pytest.mark.parametrize("policy", list(CheckpointPolicy))
def test_what_is_kept_is_not_computed_again(policy):
    factor = torch.ones(1)
    x = torch.ones(1, requires_grad=True)
    y = checkpoint(
        lambda x: (x * factor).exp(), x, use_reentrant=False, context_fn=keeping(lambda *_: policy)
    )
    factor.fill_(2)  # only the second run sees it
    y.backward()
    power = 2.0 if "RECOMPUTE" in policy.name else 1.0
    torch.testing.assert_close(x.grad, 2 * torch.tensor([power]).exp())


def test_writing_to_what_is_kept_does_no_harm():
    w = torch.randn(3, 3)

    def inside(x):
        y = torch.mm(x, w)
        return y.add_(1).sin()

    x = torch.randn(3, 3, requires_grad=True)
    y = checkpoint(inside, x, use_reentrant=False, context_fn=keeping([aten.mm.default]))
    (found,), (expected,) = (torch.autograd.grad(z.sum(), x) for z in (y, inside(x)))
    assert torch.equal(found, expected)


def test_refusals():
    with pytest.raises(ValueError, match="to be an OpOverload but got: <function sin"):
        create_selective_checkpoint_contexts([torch.sin])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts("mm")
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.sin, x, use_reentrant=False, context_fn=keeping([aten.sin]))
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.sum().backward()


def test_a_second_run_that_differs():
    functions = iter((torch.sin, torch.cos))
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(
        lambda x: next(functions)(x),
        x,
        use_reentrant=False,
        context_fn=keeping(lambda *_: CheckpointPolicy.MUST_SAVE),
    )
    with pytest.raises(RuntimeError, match=r"SinBackward0 was kept .* CosBackward0"):
        y.sum().backward()
