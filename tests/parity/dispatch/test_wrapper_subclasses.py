"""Wrapper subclasses and modes with ``__torch_dispatch__``: what they give, as in PyTorch."""

import oracle
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


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_on_wrapper_subclasses_and_modes(program):
    ours, theirs = (plain(program(library)) for library in (torchlike, torch))
    oracle.same(ours, theirs, rtol=1e-5, atol=0)


def test_a_view_is_not_written_with_what_requires_grad():
    x = made(torchlike, requires_grad=True)
    whole = (x.detach() * 0).requires_grad_(False)
    with pytest.raises(NotImplementedError, match="the base would not know of the gradient"):
        whole[0] = (x * 2)[0]
