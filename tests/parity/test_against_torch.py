"""check_against_torch: the same function, with PyTorch where it names torchlike."""

import functools
import subprocess
import sys
import unittest

import pytest
import torch as real
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike
import torchlike as torch
import torchlike.nn.functional as F
from torchlike.interop import arrays
from torchlike.nn import Linear
from torchlike.testing import check_against_torch
from torchlike.testing import strategies as ts

pytestmark = pytest.mark.parity
profile = settings(settings.get_profile("torchlike"), database=None, derandomize=True)
X = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])


def helper(x):
    return F.gelu(x) + torch.ones(3)


class Net(torch.nn.Module):
    scale = torch.float64

    def __init__(self):
        super().__init__()
        self.first = Linear(3, 4)
        self.drop = torch.nn.Dropout(0.5)

    @property
    def width(self):
        return self.first.out_features

    def forward(self, x):
        return self.drop(self.first(helper(x))).to(self.scale) / self.width


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def test_functions_modules_and_random_numbers():
    check_against_torch(helper, X.clone().requires_grad_())
    check_against_torch(lambda x: Net()(x), X.clone().requires_grad_())
    check_against_torch(torch.jit(lambda x: Square.apply(x)), X.clone().requires_grad_())
    check_against_torch(lambda: (torch.rand(3), torch.randperm(5), torch.randn(20)))
    check_against_torch(torch.softmax, X, dim=0)
    check_against_torch(lambda x, d: (x.to(d), x.dtype, x.shape, x.device), X, torch.bfloat16)


def test_views_and_writes_in_place():
    def write(whole, row):
        row.mul_(2)
        whole[:, 1] = row[0]
        return whole.t(), [row, {"n": 3}]

    check_against_torch(write, X, X[1])
    assert X[1, 2].item() == -0.5


@profile
@given(ts.programs(), ts.tensors(shape=(3, 4), special=False, layouts=ts.LAYOUTS[:4]))
def test_programs(program, x):
    check_against_torch(program.function, x)


@profile
@given(st.data())
def test_indices(data):
    x = data.draw(ts.tensors(ts.dtypes(), requires_grad=st.booleans()))
    index = data.draw(ts.indices(tuple(x.shape), masks=True))
    check_against_torch(lambda x: x[index], x)


def test_what_differs_is_named():
    ours = torchlike

    def wrong(x):
        return x * (2 if torch.__name__ == "torchlike" else 3)

    def wrong_write(x):
        x[0].add_(torch.__name__ == "torchlike")
        return 0

    def wrong_dtype(x):
        return x.double() if torch.__name__ == "torchlike" else x

    def wrong_error(x):
        if torch.__name__ == "torchlike":
            raise ValueError("mine")
        return x

    assert ours is torch
    for fault, words in (
        (wrong, "torchlike differs from PyTorch in the result"),
        (wrong_write, "in argument 0 after the call"),
        (wrong_dtype, "'dtype' do not match"),
        (wrong_error, "torchlike raises ValueError where PyTorch gives a result: mine"),
    ):
        with pytest.raises(AssertionError, match=words):
            check_against_torch(fault, X)
    with pytest.raises(AssertionError, match="in the gradient of argument 0"):
        check_against_torch(
            lambda x: x * 1 if torch.__name__ == "torchlike" else 2 * x - x.detach(),
            X.clone().requires_grad_(),
        )


def test_errors_of_one_name_are_the_same():
    check_against_torch(lambda x: x.reshape(7), X)
    check_against_torch(lambda x: torch.nn.Linear(2, 2)(x), X)


def test_refusals():
    with pytest.raises(TypeError, match="cannot hand a module over"):
        check_against_torch(lambda m: m, torch.nn.Linear(1, 1))
    layer = torch.nn.Linear(3, 1)
    with pytest.raises(TypeError, match="reaches a Linear of torchlike's from outside"):
        check_against_torch(lambda x: layer(x), X)
    with pytest.raises(TypeError, match=r"no counterpart of torchlike\.interop\.pytrees\.arrays"):
        check_against_torch(arrays, X)


def test_generators_are_left_alone():
    ours, theirs = torch.get_rng_state(), real.get_rng_state()
    check_against_torch(lambda: torch.rand(3))
    assert torch.get_rng_state().equal(ours)
    assert real.equal(real.get_rng_state(), theirs)


def test_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(unittest.SkipTest, match="PyTorch, which is not installed"):
        check_against_torch(helper, X)
    monkeypatch.setitem(sys.modules, "torch", torchlike)
    with pytest.raises(unittest.SkipTest, match="`torch` is torchlike in this process"):
        check_against_torch(helper, X)


@pytest.mark.full
def test_under_the_alias():
    code = (
        "import torchlike.as_torch, torch, unittest\n"
        "try: torch.testing.check_against_torch(torch.neg, torch.ones(2))\n"
        "except unittest.SkipTest as skip: assert 'is torchlike in this process' in str(skip)\n"
        "else: raise SystemExit('not skipped')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@functools.wraps(F.relu)
def tripled(x):
    return F.relu(x) * 3


def test_a_wrapper_with_the_name_of_a_function_of_torchs_is_followed():
    check_against_torch(lambda x: tripled(x), X)
