"""torchlike._core.casts: arrays as C converts them, numbers that must fit."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core import casts

NAN, INF = float("nan"), float("inf")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.uint8, [255, 44, 112, 253, 0, 0]),
        (torch.int8, [-1, 44, 112, -3, 0, 0]),
        (torch.int16, [-1, 300, 4464, -3, 0, 0]),
        (torch.int32, [-1, 300, 70000, -3, -(2**31), -(2**31)]),
        (torch.int64, [-1, 300, 70000, -3, 2**31 + 256, -(2**63)]),
        (torch.bool, [True] * 6),
    ],
)
@pytest.mark.parametrize("source", [torch.float32, torch.float64])
def test_floats_wrap_and_what_fits_no_register_is_the_least_integer(dtype, expected, source):
    x = torch.tensor([-1.0, 300.0, 70000.0, -3.7, 2.0**31 + 256, 1e20], dtype=source)
    for jitted in (False, True):
        run = torch.jit if jitted else lambda f: f
        assert run(lambda t: t.to(dtype))(x).tolist() == expected
        assert run(lambda t: torch.zeros(6, dtype=dtype).copy_(t))(x).tolist() == expected

        def store(t):
            z = torch.zeros(2, 6, dtype=dtype)
            z[1] = t
            return z[1]

        assert run(store)(x).tolist() == expected
        with pytest.warns(UserWarning, match="To copy construct"):
            copy = torch.tensor(x, dtype=dtype)
        assert copy.tolist() == expected


def test_nan_and_infinity_as_integers():
    x = torch.tensor([NAN, INF, -INF])
    assert x.int().tolist() == [-(2**31)] * 3
    assert x.long().tolist() == [-(2**63)] * 3
    assert x.to(torch.uint8).tolist() == [0] * 3
    assert x.bool().tolist() == [True] * 3


def test_complex_numbers_lose_the_imaginary_part_but_not_as_bools():
    x = torch.tensor([1 + 2j, -3j, 0j])
    assert x.to(torch.bool).tolist() == [True, True, False]
    assert x.to(torch.float32).tolist() == [1.0, 0.0, 0.0]
    assert x.to(torch.int64).tolist() == [1, 0, 0]


@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.float64, torch.int64])
def test_float8_e4m3fn_has_no_infinity_and_saturates(source):
    x = torch.tensor([1000.0, -5000.0, 449.0, 3.0]).to(source)
    assert x.to(torch.float8_e4m3fn).float().tolist() == [448.0, -448.0, 448.0, 3.0]
    wide = torch.tensor([INF, -INF, NAN])
    assert wide.to(torch.float8_e4m3fn).float().tolist()[:2] == [448.0, -448.0]
    assert wide.to(torch.float8_e4m3fn).isnan().tolist() == [False, False, True]


def test_numpy_and_jax_arrays_go_the_same_way():
    x = np.array([-1.5, 255.7, 1e9, NAN, 2.0**40], np.float32)
    for name in ("uint8", "int16", "int32", "int64", "uint32"):
        with np.errstate(invalid="ignore"):
            by_numpy = casts.convert(x, name)
        by_jax = casts.convert(torch.tensor(x).jax(), name)
        assert by_numpy.tolist() == by_jax.tolist()


WRITES = {
    "fill_": lambda x, v: x.fill_(v),
    "copy of a number": lambda x, v: x.__setitem__(0, v),
    "slice": lambda x, v: x.__setitem__(slice(None), v),
    "indices": lambda x, v: x.__setitem__(torch.tensor([0]), v),
    "mask": lambda x, v: x.__setitem__(torch.tensor([True, False]), v),
    "masked_fill": lambda x, v: x.masked_fill(torch.tensor([True, False]), v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0]), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0]), v),
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype),
    "full_like": lambda x, v: torch.full_like(x, v),
    "new_full": lambda x, v: x.new_full((2,), v),
    "scalar_tensor": lambda x, v: torch.scalar_tensor(v, dtype=x.dtype),
    "where": lambda x, v: torch.where(torch.tensor([True, False]), v, x),
    "clamp": lambda x, v: x.clamp(max=v),
    "pad": lambda x, v: torch.nn.functional.pad(x, (1, 1), value=v),
    "fill_diagonal_": lambda x, v: x.reshape(1, 2).fill_diagonal_(v),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
@pytest.mark.parametrize("jitted", [False, True])
def test_a_number_that_does_not_fit_is_refused(write, jitted):
    x = torch.zeros(2, dtype=torch.uint8)
    run = torch.jit(write, dynamic=False) if jitted else write
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t without overflow"):
        run(x, 256)
    assert x.tolist() == [0, 0]
    run(x, 255)


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize("jitted", [False, True])
def test_what_was_a_number_is_no_weak_type(write, dtype, jitted):
    # An array that JAX took for a number's would be float32 beside the next number.
    def run(x):
        found = write(x, True if dtype is torch.bool else 2 if dtype is torch.int64 else 2.5)
        found = x if found is None else found
        return found, found * 3, x * 3

    x = torch.ones(2, dtype=dtype)
    found, product, other = (torch.jit(run) if jitted else run)(x)
    assert found.dtype is dtype
    expected = torch.int64 if dtype is torch.bool else dtype
    assert product.dtype is other.dtype is expected
    assert not found._read().weak_type
    assert not x._read().weak_type


@pytest.mark.parametrize(
    ("value", "dtype", "fits"),
    [
        (-1, "uint8", True),
        (-255, "uint8", True),
        (-256, "uint8", False),
        (-1.0, "uint8", False),
        (-0.5, "uint8", False),
        (255.5, "uint8", False),
        (NAN, "int64", False),
        (2**63 - 1, "int64", True),
        (2.0**63, "int64", True),
        (1e19, "int64", False),
        (1e39, "float32", False),
        (INF, "float32", True),
        (NAN, "float32", True),
        (70000, "float16", False),
        (1 + 0j, "float32", True),
        (1 + 1j, "float32", False),
        (complex(0, 1e39), "complex64", False),
        (1e300, "bool", True),
        (True, "uint8", True),
    ],
)
def test_fits(value, dtype, fits):
    assert casts.fits(value, np.dtype(dtype)) is fits


def test_filling_takes_any_real_number_for_a_narrow_float():
    assert torch.full((1,), 70000.0, dtype=torch.float16).tolist() == [INF]
    with pytest.raises(RuntimeError, match="c10::Half"):
        torch.zeros(1, dtype=torch.float16).masked_fill(torch.tensor([True]), 70000.0)


def test_lists_must_fit_and_arrays_wrap():
    with pytest.raises(RuntimeError, match="type uint8 without overflow"):
        torch.tensor([1, 256], dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="type int16 without overflow"):
        torch.tensor([NAN], dtype=torch.int16)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)
    assert torch.tensor([-1, 255], dtype=torch.uint8).tolist() == [255, 255]
    assert torch.tensor(np.array([256.0, -1.0]), dtype=torch.uint8).tolist() == [0, 255]


def test_a_tensor_to_fill_with_must_fit_too():
    x = torch.zeros(2, dtype=torch.uint8)
    mask = torch.tensor([True, False])
    for fill in (
        lambda v: x.masked_fill(mask, v),
        lambda v: x.__setitem__(mask, v),
        lambda v: x.index_fill(0, torch.tensor([1]), v),
        lambda v: torch.full_like(x, v),
    ):
        with pytest.raises(RuntimeError, match="without overflow"):
            fill(torch.tensor(300.7))
        fill(torch.tensor(3.7))
    assert x.fill_(torch.tensor(300.7)).tolist() == [44, 44]  # a copy, as in PyTorch


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("source", [torch.float32, torch.float64, torch.float16])
def test_the_gradient_of_a_cast_to_float8_is_one_beyond_its_range_too(source, jitted):
    x = torch.tensor([1.0, 1000.0, -500.0], dtype=source, requires_grad=True)

    def gradient(x):
        x.to(torch.float8_e4m3fn).float().mul(torch.tensor([1.0, 2.0, 4.0])).sum().backward()
        return x.grad

    assert (torch.jit(gradient) if jitted else gradient)(x).tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: torch.add(x, x, alpha=300),
        lambda x: x.sub(x, alpha=-200),
        lambda x: x.add_(x, alpha=300),
        lambda x: torch.rsub(x, x, alpha=300),
        lambda x: torch.addcmul(x, x, x, value=300),
        lambda x: torch.addmm(x.view(1, 2), x[:1].view(1, 1), x.view(1, 2), alpha=300),
        lambda x: torch.addmm(x.view(1, 2), x[:1].view(1, 1), x.view(1, 2), beta=300),
        lambda x: x.index_add(0, torch.tensor([0, 1]), x, alpha=300),
        lambda x: x**300,
    ],
)
def test_a_factor_must_fit_the_operands(use, jitted):
    x = torch.ones(2, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without over"):
        (torch.jit(use) if jitted else use)(x)
    assert x.tolist() == [1, 1]


def test_a_factor_that_promotion_makes_room_for():
    x = torch.ones(2, dtype=torch.int8)
    assert torch.add(x, x.int(), alpha=300).tolist() == [301, 301]
    assert torch.add(x.bool(), x.bool(), alpha=300).tolist() == [True, True]


def test_integers_beyond_int64():
    big = 2**63
    assert torch.tensor(big, dtype=torch.uint64).item() == big
    assert torch.tensor([big], dtype=torch.uint64).tolist() == [big]
    for dtype in (torch.float32, torch.float64, torch.complex64):
        assert torch.tensor(2**65, dtype=dtype).item() == 2.0**65
        assert torch.tensor([1.5, -(2**65)], dtype=dtype).tolist() == [1.5, -(2.0**65)]
    assert torch.tensor([big, 0], dtype=torch.bool).tolist() == [True, False]
    for values in (big, [big], [[big, 1]]):
        for dtype in (None, torch.int64, torch.int8):
            with pytest.raises(ValueError, match="Overflow when unpacking long long"):
                torch.tensor(values, dtype=dtype)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor([1.5, big], dtype=torch.int64)
    with pytest.raises(TypeError, match="an integer is required"):
        torch.tensor([1.5, big], dtype=torch.uint64)
    assert torch.tensor([1.5, 2**64]).tolist() == [1.5, 2.0**64]
    assert torch.tensor([1, 1e30]).dtype == torch.float32
    for use in (lambda x: x + 2**64, lambda x: x < 2**64, lambda x: x.fill_(2**64)):
        with pytest.raises(OverflowError, match="int too big to convert"):
            use(torch.ones(2))
