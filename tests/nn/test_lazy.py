"""Lazy layers become ordinary ones at their first input."""

import copy

import pytest

import torchlike as torch
import torchlike.nn as nn
from torchlike import random
from torchlike._core.errors import JitCaptureError


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
    for use in (lambda w: w + 1, lambda w: 1 - w, lambda w: w.sum(), torch.relu, torch.ones_like):
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


@pytest.mark.usefixtures("compiled_at_once")
@pytest.mark.parametrize("compiled", [False, True])
def test_running_statistics_wait_too(compiled):
    layer = nn.LazyBatchNorm1d().double()
    ordinary = nn.BatchNorm1d(2).double()
    mean = layer.running_mean
    assert isinstance(mean, nn.UninitializedBuffer)
    assert mean.dtype == torch.float64
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        ordinary.load_state_dict(layer.state_dict())
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]], dtype=torch.float64)
    assert torch.equal((torch.jit(layer) if compiled else layer)(x), ordinary(x))
    assert layer.running_mean is mean
    assert type(mean) is torch.Tensor
    assert torch.equal(mean, ordinary.running_mean)
    assert layer.num_batches_tracked == 1


@pytest.mark.parametrize("affine", [True, False])
def test_what_a_checkpoint_gave_waits_no_longer(affine):
    lazy = nn.LazyInstanceNorm1d(affine=affine)
    assert lazy.has_uninitialized_params()
    lazy.load_state_dict(nn.InstanceNorm1d(3, affine=affine, track_running_stats=True).state_dict())
    assert not lazy.has_uninitialized_params()
    assert lazy.running_var.shape == (3,)


def test_the_first_call_of_a_transposed_convolution_may_name_its_output_size():
    layer = nn.LazyConvTranspose1d(2, 3, stride=2)
    assert layer(torch.ones(1, 2, 4), output_size=(10,)).shape == (1, 2, 10)
    assert type(layer) is nn.ConvTranspose1d


def test_the_channels_of_one_image_are_its_first_dimension():
    layer = nn.LazyConv1d(5, 3)
    assert layer(torch.ones(4, 3)).shape == (5, 1)
    assert layer.in_channels == 4


class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module of the user's."""

    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter()
        self.seen = nn.UninitializedBuffer()

    def initialize_parameters(self, x):
        self.weight.materialize(x.shape[-1])
        self.seen.materialize(())
        nn.init.constant_(self.weight, 2.0)

    def forward(self, x):
        self.seen += 1
        return self.weight * x


def test_a_lazy_module_of_the_users():
    module = Scale()
    module.register_forward_pre_hook(lambda module, args: (args[0] + module.weight,))
    assert module.has_uninitialized_params()
    for calls in (1, 2):
        assert module(torch.ones(3)).tolist() == [6.0] * 3
        assert module.seen == calls
    assert type(module) is Scale
    assert not module.has_uninitialized_params()


def test_a_lazy_module_of_the_users_becomes_a_class():
    class Becoming(Scale):
        cls_to_become = Scale

    module = Becoming()
    module(torch.ones(3))
    assert type(module) is Scale
    assert module(torch.ones(3)).tolist() == [2.0] * 3


def test_a_lazy_module_that_leaves_parameters_waiting():
    class Forgetful(Scale):
        def initialize_parameters(self, x):
            self.weight.materialize(3)

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(torch.ones(3))


def test_a_lazy_module_without_a_way_to_initialize():
    class Bare(nn.modules.lazy.LazyModuleMixin, nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented"):
        Bare()(torch.ones(3))


def test_a_lazy_module_of_the_users_is_not_initialized_in_a_program():
    module = Scale()
    with pytest.raises(JitCaptureError, match="one call of the module before"):
        torch.jit(module)(torch.ones(3))


def test_uninitialized_buffer():
    lazy = torch.nn.UninitializedBuffer(dtype=torch.float64)
    with pytest.raises(RuntimeError, match="uninitialized"):
        _ = lazy.shape
    assert copy.deepcopy(lazy).dtype is torch.float64
    module = torch.nn.Module()
    module.register_buffer("b", lazy)
    lazy.materialize((2, 3))
    assert type(lazy) is torch.Tensor
    assert module.b.shape == (2, 3)


def test_adagrad_makes_its_state_at_once_and_needs_shapes():
    with pytest.raises(ValueError, match="uninitialized parameter"):
        torch.optim.Adagrad(nn.LazyLinear(2).parameters())
