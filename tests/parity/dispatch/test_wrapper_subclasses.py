"""Wrapper subclasses and modes with ``__torch_dispatch__``: what they give, as in PyTorch."""

import numpy as np
import pytest
from dispatch_subclass_cases import PROGRAMS, made

import torchlike

torch = pytest.importorskip("torch")


def plain(value):
    """A result with tensors as arrays and the libraries' names alike."""
    if isinstance(value, (torch.Tensor, torchlike.Tensor)):
        return value.detach().numpy()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def same(ours, theirs):
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == theirs


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_on_wrapper_subclasses_and_modes(program):
    same(plain(program(torchlike)), plain(program(torch)))


def test_a_view_is_not_written_with_what_requires_grad():
    x = made(torchlike, requires_grad=True)
    whole = (x.detach() * 0).requires_grad_(False)
    with pytest.raises(NotImplementedError, match="the base would not know of the gradient"):
        whole[0] = (x * 2)[0]
