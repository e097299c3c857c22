"""New memory under deterministic algorithms: filled so that reading it shows."""

import math

import pytest

import torchlike as torch
from torchlike.utils import deterministic


@pytest.fixture(autouse=True)
def asked():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True


MADE = {
    "empty": lambda: torch.empty(2, 2),
    "empty_like": lambda: torch.empty_like(torch.ones(2, 2)),
    "new_empty": lambda: torch.ones(1).new_empty(2, 2),
    "empty_strided": lambda: torch.empty_strided((2, 2), (1, 2)),
    "empty_permuted": lambda: torch.empty_permuted((2, 2), (1, 0)),
    "FloatTensor": lambda: torch.FloatTensor(2, 2),
    "resize_": lambda: torch.ones(1).resize_(5)[1:],
}


@pytest.mark.parametrize("name", MADE)
def test_floats_are_nan(name):
    assert MADE[name]().isnan().all()
    assert torch.jit(MADE[name])().isnan().all()
    deterministic.fill_uninitialized_memory = False
    assert not MADE[name]().any()
    deterministic.fill_uninitialized_memory = True
    torch.use_deterministic_algorithms(False)
    assert not MADE[name]().any()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.int8, 127),
        (torch.uint8, 255),
        (torch.int64, 2**63 - 1),
        (torch.uint64, 2**64 - 1),
        (torch.bool, True),
    ],
)
def test_integers_are_the_largest(dtype, value):
    assert torch.empty(2, dtype=dtype).tolist() == [value] * 2
    assert torch.jit(lambda: torch.empty(2, dtype=dtype))().tolist() == [value] * 2


def test_complex_numbers_are_nan_in_their_real_part():
    found = torch.empty((), dtype=torch.complex64).item()
    assert math.isnan(found.real)
    assert found.imag == 0


def test_compiled_programs_see_the_switch():
    compiled = torch.jit(lambda x: x + torch.empty(2).isnan())
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    deterministic.fill_uninitialized_memory = False
    assert compiled(torch.ones(2)).tolist() == [1, 1]
    torch.use_deterministic_algorithms(False)
    assert compiled(torch.ones(2)).tolist() == [1, 1]


def test_modules_and_written_results_are_whole():
    assert torch.nn.Linear(3, 2)(torch.ones(3)).isfinite().all()
    assert torch.nn.LSTM(2, 2)(torch.ones(1, 1, 2))[0].isfinite().all()
    assert torch.add(torch.ones(2), 1, out=torch.empty(0)).tolist() == [2, 2]
    memory = torch.ones(1).untyped_storage()
    memory.resize_(8)  # memory itself is never filled
    assert list(memory)[4:] == [0] * 4


def test_the_switch_is_a_bool():
    assert torch.utils.deterministic.fill_uninitialized_memory is True
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        deterministic.fill_uninitialized_memory = 1
