"""``obj.__class__ = Other``, of an object or a module: compiled programs see it."""

import pytest

import torchlike as torch


def value(t):
    return t.detach().reshape(-1)[0].item()


def one():
    return torch.ones(2)


class Config:
    def __init__(self, alpha):
        self.alpha = alpha


class Doubling(Config):
    def of(self, x):
        return x * self.alpha * 2


class Halving(Config):
    def of(self, x):
        return x * self.alpha / 2


class DoublingNet(torch.nn.Module):
    def forward(self, x):
        return x * 2


class HalvingNet(torch.nn.Module):
    def forward(self, x):
        return x / 2


class TestClassOfAnObject:
    def test_exchanged(self):
        scale = Doubling(3.0)
        f = torch.jit(lambda x: scale.of(x))
        assert value(f(one())) == 6.0
        scale.__class__ = Halving
        assert value(f(one())) == 1.5
        assert f.compiles == 2

    def test_exchanged_without_dictionary(self):
        class Twice:
            __slots__ = ()
            factor = 2.0

        class Thrice:
            __slots__ = ()
            factor = 3.0

        scale = Twice()
        f = torch.jit(lambda x: x * scale.factor)
        assert value(f(one())) == 2.0
        scale.__class__ = Thrice
        assert value(f(one())) == 3.0

    @pytest.mark.parametrize("inner", [False, True])
    def test_of_a_module(self, inner):
        net = DoublingNet()
        whole = torch.nn.Sequential(net) if inner else net
        f = torch.jit(whole)
        assert value(f(one())) == 2.0
        net.__class__ = HalvingNet
        assert value(f(one())) == 0.5
        assert f.compiles == 2

    @pytest.mark.parametrize("scale", [Doubling(1.0), DoublingNet()], ids=["object", "module"])
    def test_exchanged_by_the_body(self, scale):
        first = type(scale)
        second = Halving if first is Doubling else HalvingNet

        @torch.compile
        def f(x):
            out = scale.of(x) if isinstance(scale, Config) else scale(x)
            scale.__class__ = second if type(scale) is first else first
            return out

        with pytest.warns(RuntimeWarning, match="runs eagerly"):
            found = [(value(f(one())), type(scale)) for _ in range(4)]
        assert found == [(2.0, second), (0.5, first)] * 2

    def test_an_attribute_called_attributes(self):
        scale = Config(3.0)
        scale.attributes = 1.0
        f = torch.jit(lambda x: x * scale.attributes + sum(vars(scale).values()))
        assert value(f(one())) == 5.0
        scale.beta = 1.0
        assert value(f(one())) == 6.0
