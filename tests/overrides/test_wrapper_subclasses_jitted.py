"""Wrapper subclasses (weights of few bits) in compiled functions: equal to eager, one program."""

import pytest

import torchlike as torch

aten = torch.ops.aten


class Rounded(torch.Tensor):
    """A matrix of int8 with a scale for each row."""

    @staticmethod
    def __new__(cls, levels, scale):
        made = torch.Tensor._make_wrapper_subclass(cls, levels.shape, dtype=scale.dtype)
        made.levels, made.scale = levels, scale
        return made

    def __init__(self, *args):
        pass

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def of(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale)

    def whole(self):
        return self.levels.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.detach.default:
            return cls(args[0].levels, args[0].scale)
        return func(*[a.whole() if isinstance(a, cls) else a for a in args], **(kwargs or {}))


def model():
    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 8))
    for layer in (made[0], made[2]):
        weight = Rounded.of(layer.weight.detach())
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return made


CHANGES = {
    "its inside, in place": (lambda w: w.levels.zero_(), 1),
    "its inside": (lambda w: setattr(w, "levels", torch.ones(6, 8, dtype=torch.int8)), 2),
    "its scale": (lambda w: setattr(w, "scale", w.scale * 2), 2),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_and_what_becomes_of_its_weights(name):
    change, programs = CHANGES[name]
    net, x = model(), torch.randn(3, 8)
    compiled = torch.jit(net)
    for _ in range(2):
        assert torch.allclose(compiled(x), net(x), atol=1e-6)
    assert compiled.compiles == 1
    before = compiled(x)
    change(net[0].weight)
    assert torch.allclose(compiled(x), net(x), atol=1e-6)
    assert not torch.allclose(compiled(x), before)
    assert compiled.compiles == programs


def test_a_weight_that_is_replaced():
    net, x = model(), torch.randn(3, 8)
    compiled = torch.jit(net)
    compiled(x)
    for value in (Rounded.of(torch.randn(6, 8)), torch.randn(6, 8)):
        net[0].weight = torch.nn.Parameter(value, requires_grad=False)
        assert torch.allclose(compiled(x), net(x), atol=1e-6)


def test_as_arguments():
    linear = torch.jit(lambda w, x: torch.nn.functional.linear(x, w))
    x, weights = torch.randn(3, 8), [Rounded.of(torch.randn(6, 8)) for _ in range(2)]
    for w in (*weights, weights[0]):
        assert torch.allclose(linear(w, x), torch.nn.functional.linear(x, w), atol=1e-6)
    assert linear.compiles == 2  # a program for each object


def test_as_a_result_it_is_refused():
    with pytest.raises(torch.jit.JitCaptureError, match="a wrapper subclass as a result"):
        torch.jit(Rounded.of)(torch.randn(6, 8))
    # torch.compile runs it eagerly.
    with pytest.warns(RuntimeWarning, match="a wrapper subclass as a result"):
        made = torch.compile(Rounded.of)(torch.ones(2, 3))
    assert type(made) is Rounded


@pytest.mark.parametrize("backward", ["inside", "outside"])
def test_gradients_of_inputs_and_of_other_parameters(backward):
    net = model()

    def loss(x):
        hidden = net(x) + x  # a gradient arrives on two ways
        return (hidden * net(hidden)).sum()

    def step(x):
        if backward == "outside":
            return loss(x)
        loss(x).backward()
        return None

    def gradients(run):
        x = torch.arange(24.0).reshape(3, 8).sin().requires_grad_()
        net.zero_grad()
        result = run(x)
        if backward == "outside":
            result.backward()
        return [x.grad, *(p.grad for p in net.parameters() if p.requires_grad)]

    compiled = torch.jit(step)
    expected = gradients(step)
    for _ in range(2):
        for found, right in zip(gradients(compiled), expected, strict=True):
            assert torch.allclose(found, right, rtol=1e-5, atol=1e-5)
    assert compiled.compiles == 1
