"""Gradient edges: equality, and their use in torch.autograd.grad. The figures are PyTorch's."""

import pytest

import torchlike as torch
from torchlike.autograd.graph import GradientEdge, get_gradient_edge


def test_edges_are_equal_where_node_and_output_are():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    a, b = torch.split(y, [1, 2])
    of_a, of_b, of_y = map(get_gradient_edge, (a, b, y))
    assert of_a == get_gradient_edge(a)
    assert len({of_a, of_b, get_gradient_edge(a)}) == 2
    made = GradientEdge(y.grad_fn, 0)
    assert made == of_y
    assert hash(made) == hash(of_y)
    assert {of_y: 1}[made] == 1
    assert of_y != (y.grad_fn, 0)
    assert of_y._fields == ("node", "output_nr", "ownership_token")


def test_views_of_one_shape_and_another_have_edges_of_their_own():
    y = torch.ones(4, requires_grad=True) * 2
    assert get_gradient_edge(y.view(2, 2)) != get_gradient_edge(y)


@pytest.mark.parametrize("made", [False, True])
def test_an_edge_among_the_inputs_of_grad(made):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    edge = GradientEdge(y.grad_fn, 0) if made else get_gradient_edge(y)
    along, at = torch.autograd.grad((y**2).sum(), [edge, x])
    assert along.tolist() == [4, 4, 4]
    assert at.tolist() == [8, 8, 8]
    assert torch.autograd.grad((x * 3).sum(), edge, allow_unused=True) == (None,)


@pytest.mark.parametrize("made", [False, True])
def test_an_edge_among_the_outputs_of_grad(made):
    x = torch.ones(3, requires_grad=True)
    s = (x * 3).sum()
    edge = GradientEdge(s.grad_fn, 0) if made else get_gradient_edge(s)
    (found,) = torch.autograd.grad(edge, x, grad_outputs=torch.tensor(1.0))
    assert found.tolist() == [3, 3, 3]
