"""torch.autograd.Variable, in which old scripts wrap their data, against PyTorch."""

import pytest
from oracle import compare

import torchlike
import torchlike.autograd.variable

torch = pytest.importorskip("torch")

WRAPPED = {
    "data": "Variable(t)",
    "a leaf": "Variable(t, requires_grad=True)",
    "by position": "Variable(t, True)",
    "by name": "Variable(data=t, requires_grad=True)",
    "a result": "Variable(t.requires_grad_() * 2)",
    "a parameter": "Variable(torch.nn.Parameter(t))",
    "nothing": "Variable()",
    "a list": "Variable([1.0, 2.0])",
    "a number": "Variable(3)",
    "whole numbers": "Variable(torch.tensor([1, 2]), requires_grad=True)",
    "volatile": "Variable(t, volatile=True)",
    "volatile and with gradients": "Variable(t, True, True)",
}


@pytest.mark.parametrize("script", WRAPPED.values(), ids=WRAPPED)
def test_wrapping(script):
    def wrapped(lib):
        v = eval(script, {"Variable": lib.autograd.Variable, "torch": lib, "t": lib.ones(2)})
        return v, v.is_leaf, type(v) is lib.Tensor

    compare(wrapped, exact=True, warned=40)


@pytest.mark.parametrize("lib", [torchlike, torch], ids=["torchlike", "torch"])
def test_tensors_are_variables_on_the_same_memory(lib):
    Variable = lib.autograd.Variable
    t = lib.zeros(2)
    v = Variable(t)
    v[0] = 5
    assert t.tolist() == [5.0, 0.0]
    assert isinstance(t, Variable)
    assert isinstance(lib.nn.Parameter(t), Variable)
    assert not isinstance(5, Variable)


def test_in_a_compiled_step():
    @torchlike.jit
    def gradient(data):
        v = torchlike.autograd.Variable(data, requires_grad=True)
        (v * v).sum().backward()
        return v.grad

    for _ in range(2):
        assert gradient(torchlike.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
