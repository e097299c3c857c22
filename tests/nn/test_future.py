"""``torch.__future__``: what becomes of parameters when a module is converted or loaded."""

import pytest

import torchlike as torch
import torchlike.nn as nn


@pytest.fixture
def overwrite():
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    yield
    torch.__future__.set_overwrite_module_params_on_conversion(False)


@pytest.fixture
def swap():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def _with_gradient():
    layer = nn.Linear(2, 3)
    layer.weight.requires_grad_(True)
    layer(torch.ones(1, 2)).sum().backward()
    return layer


def test_both_are_off_at_first():
    assert not torch.__future__.get_overwrite_module_params_on_conversion()
    assert not torch.__future__.get_swap_module_params_on_conversion()


def test_parameters_stay_the_same_objects():
    layer = _with_gradient()
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    assert layer.weight is weight
    assert weight.grad is grad
    assert weight.dtype is grad.dtype is torch.float64


def test_a_conversion_gives_new_parameters(overwrite):
    assert torch.__future__.get_overwrite_module_params_on_conversion()
    layer = _with_gradient()
    layer.bias.requires_grad_(False)
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    assert layer.weight is not weight
    assert isinstance(layer.weight, nn.Parameter)
    assert weight.dtype is grad.dtype is torch.float32
    assert weight.grad is grad
    assert layer.weight.dtype is layer.weight.grad.dtype is torch.float64
    assert layer.weight.grad.tolist() == grad.tolist()
    assert not layer.bias.requires_grad
    assert [id(p) for p in layer.parameters()] == [id(layer.weight), id(layer.bias)]


def test_new_parameters_of_the_same_dtype_are_on_the_same_memory(overwrite):
    layer = nn.Linear(2, 3)
    weight = layer.weight
    layer.float()
    assert layer.weight is not weight
    with torch.no_grad():
        weight.zero_()
    assert layer.weight.count_nonzero() == 0


def test_a_jitted_function_takes_the_new_parameters(overwrite):
    layer = nn.Linear(1, 1, bias=False)
    f = torch.jit(lambda x: layer(x))
    x = torch.ones(1, 1)
    f(x)
    old = layer.weight
    layer.cpu()
    with torch.no_grad():
        layer.weight.copy_(torch.full((1, 1), 5.0))
        old.data = torch.zeros(1, 1)
    assert f(x).item() == 5


def test_a_jitted_function_sees_the_setting():
    layer = nn.Linear(1, 1)

    @torch.jit
    def new_ones():
        return torch.ones(()) * torch.__future__.get_overwrite_module_params_on_conversion()

    assert new_ones().item() == 0
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        assert new_ones().item() == 1
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight.dtype is torch.float32


def test_a_conversion_swaps(swap):
    assert torch.__future__.get_swap_module_params_on_conversion()
    layer = _with_gradient()
    weight, grad = layer.weight, layer.weight.grad
    memory = weight.detach()
    layer.double()
    assert layer.weight is weight
    assert layer.weight.grad is grad
    assert isinstance(weight, nn.Parameter)
    assert weight.requires_grad
    assert weight.dtype is grad.dtype is torch.float64
    with torch.no_grad():
        weight.zero_()
    assert memory.count_nonzero() > 0


@pytest.mark.parametrize("assign", [False, True])
def test_loading_swaps(swap, assign):
    layer, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    nn.init.constant_(other.weight, 7)
    other.running_mean.fill_(3)
    weight, memory, mean = layer.weight, layer.weight.detach(), layer.running_mean
    layer.weight.requires_grad_(False)
    layer.load_state_dict(other.state_dict(), assign=assign)
    assert layer.weight is weight
    assert layer.running_mean is mean
    assert weight.tolist() == [7, 7]
    assert mean.tolist() == [3, 3]
    assert isinstance(weight, nn.Parameter)
    assert not weight.requires_grad
    assert memory.tolist() == ([1, 1] if assign else [7, 7])


def test_a_class_says_what_is_loaded(swap):
    class Doubling(nn.Parameter):
        def module_load(self, other, assign=False):
            return other * 2

    class Same(nn.Parameter):
        def module_load(self, other, assign=False):
            return other

    layer = nn.Module()
    layer.w = Doubling(torch.zeros(2))
    layer.load_state_dict({"w": torch.ones(2)})
    assert layer.w.tolist() == [2, 2]
    layer.w = Same(torch.zeros(2))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        layer.load_state_dict({"w": torch.ones(2)})


def test_loading_into_a_parameter_without_values_warns():
    layer = nn.Linear(2, 2, bias=False, device="meta")
    state = {"weight": torch.ones(2, 2)}
    with pytest.warns(UserWarning, match="to a meta parameter in the current model"):
        layer.load_state_dict(state)
    assert layer.weight.is_meta
    layer.load_state_dict(state, assign=True)
    assert layer.weight.tolist() == [[1, 1], [1, 1]]
