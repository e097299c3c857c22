"""Dtypes that exist by name only (torchlike/_extensions/absent_dtypes.py)."""

import copy
import pickle

import pytest

import torchlike as torch
from torchlike._extensions.absent_dtypes import DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_a_name_to_compare_and_to_carry_about(name):
    d = getattr(torch, name)
    assert isinstance(d, torch.dtype)
    assert repr(d) == f"torch.{name}"
    assert d != torch.float32
    assert {d: 1}[d] == 1
    assert d is copy.deepcopy(d) is pickle.loads(pickle.dumps(d))
    assert d.itemsize in (1, 2, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.zeros(2, dtype=d),
        lambda d: torch.ones(2).to(d),
        lambda d: torch.tensor([1.0], dtype=d),
        lambda d: torch.empty(2, dtype=d, device="meta"),
        lambda d: torch.ones(2).sum(dtype=d),
        lambda d: torch.nn.Linear(2, 2).to(d),
        lambda d: torch.promote_types(d, torch.float32),
        lambda d: torch.zeros(4).view(d),
    ],
)
@pytest.mark.filterwarnings("ignore:Complex modules")
@pytest.mark.parametrize("name", ["complex32", "float4_e2m1fn_x2"])
def test_no_tensor_is_made(make, name):
    with pytest.raises((NotImplementedError, TypeError), match=r"Use instead: torch\.|complex"):
        make(getattr(torch, name))


def test_it_is_no_default_dtype():
    with pytest.raises(NotImplementedError, match="Use instead"):
        torch.set_default_dtype(torch.float4_e2m1fn_x2)
    assert torch.get_default_dtype() is torch.float32


def test_kinds_are_pytorchs():
    assert torch.complex32.is_complex
    assert torch.chalf is torch.complex32
    assert torch.complex32.to_real() is torch.float16
    assert torch.float4_e2m1fn_x2.is_floating_point
    assert torch.int4.is_signed
    assert not torch.uint4.is_signed
