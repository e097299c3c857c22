"""torchlike._ops.elementwise.activation and softmax: kinks, in-place, names."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F


def grad_at(function, values):
    x = torch.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (F.relu, [-1.0, 0.0, 2.0, float("nan")], [0.0, 0.0, 1.0, 1.0]),
        (F.relu6, [-1.0, 0.0, 3.0, 6.0, 7.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
        (F.hardtanh, [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        (F.leaky_relu, [-1.0, 0.0, 1.0], [pytest.approx(0.01), pytest.approx(0.01), 1.0]),
        (F.elu, [0.0, 100.0], [1.0, 1.0]),
        (F.softplus, [0.0, 1000.0, -1000.0], [0.5, 1.0, 0.0]),
        (F.hardshrink, [-0.5, 0.5, 0.6], [0.0, 0.0, 1.0]),
    ],
)
def test_derivatives_at_kinks_and_far_out(function, values, expected):
    assert grad_at(function, values) == expected


def test_relu_keeps_nan_and_refuses_bools():
    assert torch.relu(torch.tensor([float("nan"), -1.0])).isnan().tolist() == [True, False]
    with pytest.raises(RuntimeError, match="Boolean inputs not supported for relu"):
        torch.relu(torch.tensor([True]))


def test_inplace_writes_into_the_tensor_and_its_base():
    base = torch.tensor([[-1.0, 2.0], [-3.0, 4.0]])
    row = base[1]
    assert F.relu(row, inplace=True) is row
    assert base.tolist() == [[-1.0, 2.0], [0.0, 4.0]]
    assert F.relu_(base) is base
    assert base.tolist() == [[0.0, 2.0], [0.0, 4.0]]


def test_node_names_are_pytorchs():
    x = torch.ones(2, requires_grad=True)
    assert torch.relu(x).grad_fn.name() == "ReluBackward0"
    assert F.gelu(x).grad_fn.name() == "GeluBackward0"
    assert F.log_softmax(x, 0).grad_fn.name() == "LogSoftmaxBackward0"


def test_softmax_sums_to_one_and_masks():
    y = F.softmax(torch.tensor([[1.0, 2.0, float("-inf")], [1000.0, 0.0, 0.0]]), dim=1)
    assert y.sum(1).tolist() == pytest.approx([1.0, 1.0])
    assert y[0, 2].item() == 0.0
    assert y[1].tolist() == [1.0, 0.0, 0.0]


def test_softmax_without_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        F.softmax(torch.ones(2, 2))


def test_one_hot_checks_its_classes():
    assert F.one_hot(torch.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(torch.tensor([3]), 3)
