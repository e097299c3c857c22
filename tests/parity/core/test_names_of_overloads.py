"""Arguments by the names that they have in each of PyTorch's overloads."""

import pytest
import torch

import torchlike
from tests.parity.oracle import same

CALLS = {
    "tensor_split by indices": lambda t, x: x.tensor_split(indices=(1, 2)),
    "tensor_split by sections": lambda t, x: t.tensor_split(x, sections=2, dim=1),
    "tensor_split by a tensor": lambda t, x: t.tensor_split(
        x, tensor_indices_or_sections=t.tensor([1])
    ),
    "hsplit by sections": lambda t, x: t.hsplit(x, sections=2),
    "hsplit by indices": lambda t, x: x.hsplit(indices=[1]),
    "vsplit": lambda t, x: x.vsplit(sections=3),
    "dsplit": lambda t, x: x.expand(2, 3, 4).dsplit(indices=[1]),
    "dot": lambda t, x: x[0].dot(tensor=x[1]),
    "swapaxes": lambda t, x: x.swapaxes(axis0=0, axis1=1),
    "ormqr": lambda t, x: t.ormqr(x[:, :3], input2=x[0, :3], input3=x),
    "resize_as_": lambda t, x: t.ones(2).resize_as_(the_template=x[0]).numel(),
    "result_type of a tensor": lambda t, x: str(t.result_type(tensor=x.long(), other=1.5)),
    "result_type of a number": lambda t, x: str(t.result_type(scalar=1, tensor=x)),
    "result_type of numbers": lambda t, x: str(t.result_type(scalar1=1, scalar2=1.0)),
    "promote_types": lambda t, x: str(t.promote_types(type1=t.int32, type2=t.float16)),
    "isin of a number": lambda t, x: t.isin(element=1, test_elements=x),
    "isin a number": lambda t, x: t.isin(elements=x, test_element=1),
    "stft, aligned": lambda t, x: t.stft(
        x.reshape(-1),
        8,
        win_length=5,
        window=t.arange(5.0),
        center=False,
        align_to_window=True,
        return_complex=True,
    ),
    "stft, not aligned": lambda t, x: t.stft(
        x.reshape(-1),
        8,
        win_length=5,
        window=t.arange(5.0),
        center=False,
        align_to_window=False,
        return_complex=True,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same(name):
    results = [CALLS[name](t, t.arange(12.0).view(3, 4)) for t in (torchlike, torch)]
    if isinstance(results[0], str):
        results = [r.split(".")[-1] for r in results]
    same(*results)


def test_two_names_for_one_argument_are_refused():
    for t in (torchlike, torch):
        with pytest.raises(TypeError):
            t.ones(4).tensor_split(indices=(1,), sections=2)


def test_aligned_to_the_window_and_centered():
    for t in (torchlike, torch):
        with pytest.raises(RuntimeError, match="align_to_window should only be set"):
            t.stft(t.ones(16), 8, align_to_window=True, return_complex=True)


def test_a_third_tensor_is_no_alpha():
    for t in (torchlike, torch):
        x = t.ones(2)
        with pytest.raises(TypeError):
            t.add(x, x, x)
        with pytest.raises(TypeError):
            x.add_(x, x)
