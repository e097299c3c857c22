"""dtypes: names, promotion, limits, the default dtype."""

import copy
import pickle

import pytest

import torchlike as torch


def test_names_and_aliases():
    assert repr(torch.float32) == "torch.float32"
    assert torch.float is torch.float32
    assert torch.long is torch.int64
    assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("uint8", "int8", "int16"),
        ("uint8", "int64", "int64"),
        ("bool", "uint8", "uint8"),
        ("int64", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("float64", "complex64", "complex128"),
        ("bfloat16", "complex64", "complex64"),
    ],
)
def test_promotion_table(a, b, expected):
    a, b, expected = (getattr(torch, n) for n in (a, b, expected))
    assert torch.promote_types(a, b) is expected
    assert torch.promote_types(b, a) is expected


def test_barebones_unsigned_types_do_not_promote():
    with pytest.raises(RuntimeError, match=r"Promotion for uint16, uint32, uint64"):
        torch.promote_types(torch.uint16, torch.int16)


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_numbers_and_zero_dim_tensors_widen_only_the_category(wrap):
    half = torch.ones(2, dtype=torch.float16)
    long = torch.ones(2, dtype=torch.int64)
    double = torch.ones((), dtype=torch.float64)
    add = wrap(lambda a, b: a + b)
    assert add(half, 1.5).dtype is torch.float16
    assert add(half, double).dtype is torch.float16
    assert add(long, 1.5).dtype is torch.float32
    assert add(long, double).dtype is torch.float64
    assert add(torch.ones(2, dtype=torch.bool), 1).dtype is torch.int64
    with pytest.raises(NotImplementedError, match="complex32"):
        add(half, 1j)
    assert add(double, torch.ones(())).dtype is torch.float64


def test_the_default_dtype_reaches_compiled_ops():
    x = torch.ones(2, dtype=torch.int64)
    assert (x / 2).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (x / 2).dtype is torch.float64
        assert torch.tensor(1.0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (x / 2).dtype is torch.float32


def test_limits():
    assert torch.finfo(torch.float16).max == 65504
    assert torch.finfo().eps == torch.finfo(torch.float32).eps == 2.0**-23
    assert torch.iinfo(torch.int8).min == -128
    with pytest.raises(TypeError, match=r"Use torch\.iinfo to handle"):
        torch.finfo(torch.int64)


def test_limits_are_one_object_a_dtype_that_nobody_writes():
    limits = torch.finfo(torch.float16)
    assert pickle.loads(pickle.dumps(limits)) is copy.copy(limits) is torch.finfo(torch.half)
    assert torch.finfo(torch.float64).bits == 64
    with pytest.raises(AttributeError, match="not writable"):
        limits.eps = 0.0
