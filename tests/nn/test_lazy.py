"""Lazy layers become ordinary ones at their first input."""

import pytest

import torchlike as torch
import torchlike.nn as nn
from torchlike import random


@pytest.mark.parametrize(
    ("lazy", "ordinary", "shape"),
    [
        (lambda: nn.LazyLinear(3), lambda: nn.Linear(4, 3), (2, 4)),
        (lambda: nn.LazyConv1d(4, 2, groups=2), lambda: nn.Conv1d(6, 4, 2, groups=2), (1, 6, 5)),
        (lambda: nn.LazyBatchNorm1d(), lambda: nn.BatchNorm1d(3), (2, 3)),
        (
            lambda: nn.LazyInstanceNorm1d(),
            lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
            (2, 3, 4),
        ),
    ],
)
def test_becomes_the_ordinary_layer(lazy, ordinary, shape):
    random.manual_seed(0)
    expected = ordinary()
    random.manual_seed(0)
    layer = lazy()
    assert layer.has_uninitialized_params()
    kept = dict(layer.named_parameters())
    assert layer(torch.ones(shape)).shape == expected(torch.ones(shape)).shape
    assert type(layer) is type(expected)
    assert repr(layer) == repr(expected)
    assert list(layer.state_dict()) == list(expected.state_dict())
    for name, parameter in layer.named_parameters():
        assert parameter is kept[name]
        assert type(parameter) is nn.Parameter
        assert parameter.tolist() == expected.get_parameter(name).tolist()


def test_a_waiting_parameter_has_no_shape():
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.LazyLinear(3).weight.shape  # noqa: B018


def test_loading_gives_the_shapes():
    layer = nn.LazyLinear(3)
    state = nn.Linear(4, 3).state_dict()
    layer.load_state_dict(state)
    assert layer(torch.ones(1, 4)).shape == (1, 3)
    assert layer.weight.tolist() == state["weight"].tolist()
    assert layer.in_features == 4


@pytest.mark.parametrize("affine", [True, False])
def test_a_lazy_batch_norm_takes_running_statistics_from_a_checkpoint(affine):
    trained = torch.nn.BatchNorm1d(4, affine=affine)
    trained.running_mean.fill_(3.0)
    lazy = torch.nn.LazyBatchNorm1d(affine=affine)
    lazy.load_state_dict(trained.state_dict())
    lazy.eval()
    x = torch.ones(2, 4)
    assert torch.equal(lazy(x), trained.eval()(x))
    assert lazy.running_mean.tolist() == [3.0] * 4


def test_running_statistics_loaded_without_the_parameters_are_kept():
    trained = torch.nn.BatchNorm1d(4)
    trained.running_mean.fill_(3.0)
    statistics = {k: v for k, v in trained.state_dict().items() if "running" in k}
    lazy = torch.nn.LazyBatchNorm1d()
    lazy.load_state_dict(statistics, strict=False)
    lazy(torch.ones(2, 4))
    assert lazy.running_mean.tolist() == pytest.approx([2.8] * 4)


def test_an_op_takes_no_waiting_parameter():
    layer = nn.LazyLinear(3)
    for use in (lambda w: w + 1, lambda w: 1 - w, lambda w: w.sum(), torch.relu):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use(layer.weight)
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            torch.jit(lambda use=use: use(layer.weight))()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_waiting_module_changes_dtype_and_device(device):
    layer = nn.LazyLinear(3).double().to(device)
    assert layer.has_uninitialized_params()
    out = layer(torch.ones(2, 4, dtype=torch.float64, device=device))
    assert out.dtype == torch.float64
    assert out.device.type == device
    assert out.shape == (2, 3)
