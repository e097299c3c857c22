"""Several views of one tensor: one node, whose backward puts the parts' gradients side by side."""

import pytest

import torchlike as torch

CUTS = [
    lambda x: x.split(2, 1),
    lambda x: x.split([1, 0, 4], 1),
    lambda x: x.chunk(3, 1),
    lambda x: x.unbind(0),
    lambda x: x.unbind(1),
]


@pytest.mark.parametrize("cut", CUTS)
def test_parts_share_a_node(cut):
    parts = cut(torch.arange(20.0).view(4, 5).requires_grad_() * 1)
    assert all(part.grad_fn is parts[0].grad_fn for part in parts)
    assert [part.output_nr for part in parts] == list(range(len(parts)))
    assert parts[0].grad_fn.next_functions[0][0].name() == "MulBackward0"


@pytest.mark.sampled(every=20)
@pytest.mark.parametrize("used", [slice(None), slice(0, 1), slice(-1, None)])
@pytest.mark.parametrize("cut", CUTS)
def test_gradients_of_parts(cut, used, run):
    x = torch.arange(20.0).view(4, 5)

    def gradients(x):
        leaf = x.detach().requires_grad_()
        loss = sum(((i + 1) * part.pow(2)).sum() for i, part in enumerate(cut(leaf)[used]))
        (first,) = torch.autograd.grad(loss, leaf, create_graph=True)
        return first, *torch.autograd.grad(first.pow(2).sum(), leaf)

    # The factor that each element is multiplied by, written into its part.
    factor = torch.zeros(4, 5)
    for i, part in enumerate(cut(factor)[used]):
        part.fill_(i + 1)
    first, second = run(gradients, x)
    assert first.tolist() == (2 * factor * x).tolist()
    assert second.tolist() == (8 * factor.pow(2) * x).tolist()


def test_many_parts_have_nodes_of_their_own():
    x = torch.arange(80.0).view(40, 2).requires_grad_()
    rows = x.unbind(0)
    assert rows[0].grad_fn is not rows[1].grad_fn
    sum(i * row.sum() for i, row in enumerate(rows)).backward()
    assert x.grad[:, 0].tolist() == list(range(40))


def test_hooks_and_retained_gradients_belong_to_their_part():
    x = torch.ones(6, requires_grad=True)
    a, b, c = x.split(2)
    a.register_hook(lambda g: g * 10)
    b.retain_grad()
    (a.sum() + (2 * b).sum() + (c * a).sum()).backward()
    assert x.grad.tolist() == [20, 20, 2, 2, 1, 1]
    assert b.grad.tolist() == [2, 2]


def test_a_part_is_not_written_to():
    parts = (torch.ones(4, requires_grad=True) * 1).split(2)
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view and is being"):
        parts[1].mul_(2)
