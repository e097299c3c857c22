"""Printing, held to stored reprs of PyTorch's (golden/printing.json), and its settings."""

import json
import math
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from torchlike._runtime import printing

GOLDEN = json.loads((Path(__file__).parent / "golden" / "printing.json").read_text())


@pytest.fixture(autouse=True)
def default_options():
    with printing.printoptions(profile="default"):
        yield


def values_of(case: dict) -> np.ndarray:
    name = case["dtype"]
    dtype = np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    if "arange" in case:
        count, step = case["arange"]
        values = (np.arange(count) * step).astype(dtype)
    elif dtype.kind == "c":
        values = np.array([complex(*pair) for pair in case["values"]], dtype)
    else:
        values = np.array(case["values"], dtype)
    return values.reshape(case["shape"]) if "shape" in case else values


def repr_of(values, dtype="float32", **facts) -> str:
    plain: dict[str, Any] = {
        "is_default_dtype": dtype in ("float32", "complex64"),
        "device": "cpu",
        "is_default_device": True,
        "requires_grad": False,
        "grad_fn": None,
    }
    return printing.tensor_repr(values, dtype=dtype, **(plain | facts))


def name_of(case: dict) -> str:
    values = f"arange{case['arange']}" if "arange" in case else str(case["values"])
    extras = [str(case[key]) for key in ("shape", "options", "grad", "device") if key in case]
    return "-".join([case["dtype"], values, *extras])


@pytest.mark.parametrize("case", GOLDEN, ids=name_of)
def test_prints_as_pytorch_does(case):
    grad = case.get("grad")
    device = case.get("device", "cpu")
    with printing.printoptions(**case.get("options", {})):
        text = repr_of(
            values_of(case),
            case["dtype"],
            device=device,
            is_default_device=device == "cpu",
            requires_grad=grad is not None,
            grad_fn="CloneBackward0" if grad == "node" else None,
        )
    if case.get("parameter"):
        text = printing.parameter_repr(text)
    assert text.split("\n") == case["text"]


def test_a_device_that_does_not_go_without_saying():
    values = np.array([1.0, 2.0], np.float32)
    assert (
        repr_of(values, device="cuda:0", is_default_device=False)
        == "tensor([1., 2.], device='cuda:0')"
    )
    text = repr_of(
        values[:0].reshape(0, 3),
        "float64",
        device="cuda:0",
        is_default_device=False,
        requires_grad=True,
    )
    assert text == (
        "tensor([], device='cuda:0', size=(0, 3), dtype=torch.float64,\n       requires_grad=True)"
    )


def test_subclass_and_parameter_subclass():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert repr_of(values, prefix="Named(") == "Named([[0., 1., 2.],\n       [3., 4., 5.]])"
    body = repr_of(values, prefix="Named(", requires_grad=True, is_parameter_like=True)
    assert printing.parameter_repr(body) == (
        "Parameter containing:\n"
        "Parameter(Named([[0., 1., 2.],\n"
        "       [3., 4., 5.]], requires_grad=True))"
    )


class Remote:
    """Values kept elsewhere: entry i of the flattened tensor is i; counts what it hands over."""

    def __init__(self, shape):
        self.shape = shape
        self.handed_over = 0

    def __getitem__(self, index):
        part = np.ravel_multi_index(np.broadcast_arrays(*index), self.shape)
        self.handed_over += part.size
        return part


@pytest.mark.parametrize(
    ("shape", "entries"),
    [((10**9,), 6), ((10**6, 10**6), 36), ((2, 10**6, 4), 48), ((10**3,) * 4, 6**4)],
)
def test_only_the_edges_of_a_large_tensor_are_asked_for(shape, entries):
    values = Remote(shape)
    text = repr_of(values, "int64")
    assert values.handed_over == entries
    assert text.count("...") > 0
    assert str(math.prod(shape) - 1) in text.splitlines()[-1]


def test_summarize_gives_the_index_of_the_edges():
    values = np.arange(2000).reshape(20, 25, 4)
    index = printing.summarize(values.shape)
    assert index is not None
    first_and_last = [0, 1, 2, -3, -2, -1]
    expected = values[first_and_last][:, first_and_last]
    np.testing.assert_array_equal(values[index], expected)
    assert printing.summarize((10, 100)) is None
    assert printing.summarize(()) is None


def test_meta_values_are_never_read():
    class Nothing:
        shape = (10**6, 10**6)

        def __getitem__(self, index):
            raise AssertionError("a meta tensor has no values")

    text = repr_of(Nothing(), device="meta", is_default_device=False)
    assert text == "tensor(..., device='meta', size=(1000000, 1000000))"


def test_printing_raises_no_numpy_warning():
    signalling = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        assert repr_of(signalling) == "tensor([nan, 1.])"
        extremes = np.array([5e-324, 1.7e308])
        assert (
            repr_of(extremes, "float64", is_default_dtype=True)
            == "tensor([4.9407e-324, 1.7000e+308])"
        )


def test_each_call_resets_sci_mode_alone():
    printing.set_printoptions(precision=2, sci_mode=True)
    printing.set_printoptions(linewidth=100)
    assert printing.get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 100,
        "sci_mode": None,
    }


def test_arguments_override_the_profile():
    printing.set_printoptions(profile="full", edgeitems=1)
    options = printing.get_printoptions()
    assert (options["threshold"], options["edgeitems"]) == (math.inf, 1)


def test_printoptions_restores_what_was_set_before_an_error():
    @printing.printoptions(precision=7)
    def fail():
        printing.set_printoptions(threshold=1)
        raise KeyError

    printing.set_printoptions(precision=2, sci_mode=True)
    before = printing.get_printoptions()
    with pytest.raises(KeyError):
        fail()
    assert printing.get_printoptions() == before


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"profile": "Short"}, ValueError),
        ({"precision": -1}, ValueError),
        ({"edgeitems": -1}, ValueError),
        ({"precision": 2.5}, TypeError),
        ({"edgeitems": "3"}, TypeError),
    ],
)
def test_bad_settings_are_refused_and_change_nothing(options, error):
    before = printing.get_printoptions()
    with pytest.raises(error):
        printing.set_printoptions(linewidth=10, **options)
    assert printing.get_printoptions() == before


def test_infinite_linewidth_keeps_a_row_on_one_line():
    with printing.printoptions(linewidth=math.inf):
        text = repr_of(np.arange(1000), "int64")
    assert text.count("\n") == 0
    assert text.endswith(" 998, 999])")


def test_settings_hold_for_every_thread():
    printing.set_printoptions(precision=1)
    texts = []
    thread = threading.Thread(target=lambda: texts.append(repr_of(np.array([0.25]))))
    thread.start()
    thread.join()
    assert texts == ["tensor([0.2])"]
