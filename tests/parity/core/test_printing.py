"""`torchlike._runtime.printing` against the reprs of PyTorch itself, character for character."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlike._runtime import printing

torch = pytest.importorskip("torch")
from torch._tensor_str import get_printoptions as torch_get_printoptions  # noqa: E402
from torch._tensor_str import printoptions as torch_printoptions  # noqa: E402

# PyTorch's name: the NumPy type that carries its values.
CARRIERS = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float4_e2m1fn_x2": np.uint8,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "bool": np.bool_,
    "uint8": np.uint8,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
}
# Weighted towards what people print.
COMMON = ["float32"] * 8 + ["float64", "int64", "bool", "complex64"] * 2
DIFFERENTIABLE = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
SPECIALS = [np.inf, -np.inf, np.nan, 0.0, -0.0]


def as_torch(values: np.ndarray, dtype: str):
    """A torch tensor of the very bits of `values`."""
    if values.size == 0:
        return torch.empty(values.shape, dtype=getattr(torch, dtype))
    flat = torch.from_numpy(np.ascontiguousarray(values).reshape(-1).view(np.uint8).copy())
    return flat.view(getattr(torch, dtype)).reshape(values.shape)


def both(values: np.ndarray, dtype: str, grad: str = "no", options: dict | None = None):
    """(ours, PyTorch's) under the same options; `grad` is "no", "leaf" or "node"."""
    options = options or {}
    tensor = as_torch(values, dtype)
    if grad != "no":
        tensor.requires_grad_()
    if grad == "node":
        tensor = tensor.clone()
    with torch_printoptions(**options):
        theirs = repr(tensor)
    with printing.printoptions(**options):
        ours = printing.tensor_repr(
            values,
            dtype=dtype,
            is_default_dtype=dtype in ("float32", "complex64"),
            device="cpu",
            is_default_device=True,
            requires_grad=grad != "no",
            grad_fn="CloneBackward0" if grad == "node" else None,
        )
    return ours, theirs


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = int(rng.choice(6, p=[0.07, 0.28, 0.35, 0.18, 0.08, 0.04]))
    longest = [0, 1600, 60, 14, 8, 5][ndim]
    shape = [int(1 + longest ** rng.random()) for _ in range(ndim)]
    if ndim and rng.random() < 0.06:
        shape[int(rng.integers(ndim))] = 0
    return tuple(shape)


def random_floats(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    scale = 10.0 ** rng.integers(-9, 13) if rng.random() < 0.5 else 1.0
    values = rng.standard_normal(shape) * scale
    spread = rng.random()
    if spread < 0.15:  # several magnitudes in one tensor
        values = values * 10.0 ** rng.integers(-4, 5, shape)
    elif spread < 0.4:  # whole numbers
        values = np.round(values)
    elif spread < 0.5:  # around the bounds of scientific notation
        values = rng.choice(
            [1e-4, 1e-3, 0.1, 1.0, 2.0, 1000.0, 1001.0, 1e5, 1e8, 100000008.0], shape
        )
    if rng.random() < 0.25:
        values = np.where(rng.random(shape) < rng.random(), rng.choice(SPECIALS, shape), values)
    return np.asarray(values)


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    carrier = np.dtype(CARRIERS[dtype])
    if dtype == "float4_e2m1fn_x2":
        return rng.integers(0, 256, shape or (1,), dtype=np.uint8)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < rng.choice([0.0, 0.5, 1.0]))
    if carrier.kind in "iu":
        bounds = np.iinfo(carrier)
        span = int(10 ** (rng.random() * np.log10(float(bounds.max))))
        low = max(bounds.min, -span) if rng.random() < 0.7 else 0
        return rng.integers(low, min(bounds.max, span), shape, dtype=carrier, endpoint=True)
    with np.errstate(over="ignore", invalid="ignore"):
        if carrier.kind == "c":
            values = np.empty(shape, np.complex128)
            values.real, values.imag = random_floats(rng, shape), random_floats(rng, shape)
            return values.astype(carrier)
        return random_floats(rng, shape).astype(carrier)


def random_options(rng: np.random.Generator) -> dict:
    if rng.random() < 0.5:
        return {}
    candidates = {
        "precision": int(rng.integers(0, 11)),
        "threshold": [0, 5, 100, 1000, float("inf")][rng.integers(5)],
        "edgeitems": int(rng.integers(0, 6)),
        "linewidth": int(rng.integers(1, 140)),
        "profile": ["default", "short", "full"][rng.integers(3)],
        "sci_mode": [True, False, None][rng.integers(3)],
    }
    return {name: value for name, value in candidates.items() if rng.random() < 0.45}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("seed", range(400))
def test_random_tensor(seed):
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(COMMON)) if rng.random() < 0.5 else str(rng.choice(list(CARRIERS)))
    grad = str(rng.choice(["no", "leaf", "node"])) if dtype in DIFFERENTIABLE else "no"
    values = random_values(rng, random_shape(rng), dtype)
    ours, theirs = both(values, dtype, grad, random_options(rng))
    assert ours == theirs


@pytest.mark.parametrize("dtype", CARRIERS)
def test_every_dtype_in_every_form(dtype):
    rng = np.random.default_rng(0)
    shapes = [(1,), (7,), (0,), (0, 3), (2, 5), (2, 3, 4), (40, 40), (1200,)]
    if dtype != "float4_e2m1fn_x2":  # PyTorch cannot print a 0-dim one
        shapes.append(())
    for shape in shapes:
        for options in [{}, {"edgeitems": 0}, {"sci_mode": True}, {"profile": "short"}]:
            ours, theirs = both(random_values(rng, shape, dtype), dtype, options=options)
            assert ours == theirs


@pytest.mark.parametrize("width", range(1, 21))
def test_suffixes_wrap_at_the_same_column(width):
    for shape in [(width,), (2, width), (2, 2, width)]:
        for grad in ["no", "leaf", "node"]:
            ours, theirs = both(np.ones(shape), "float64", grad)
            assert ours == theirs


@pytest.mark.parametrize(
    "edge",
    [
        1e-4,
        np.nextafter(1e-4, 1),
        np.nextafter(1e-4, 0),
        1e8,
        np.nextafter(1e8, 2e8),
        1000,
        1000.0001,
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_scientific_notation(edge, dtype):
    for values in [[edge], [1.0, edge], [-edge, 0.0, np.nan], [1.0, edge, 0.5], [0.1, 100.0]]:
        ours, theirs = both(np.array(values, CARRIERS[dtype]), dtype)
        assert ours == theirs


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("pattern", range(0, 256, 5))
@pytest.mark.parametrize("dtype", [name for name in CARRIERS if name.startswith("float8")])
def test_float8_bit_patterns(dtype, pattern):
    for others in [[], [0], [1], [127], [255], [0, 128, 56]]:
        bits = np.array([pattern, *others], np.uint8)
        ours, theirs = both(bits.view(CARRIERS[dtype]), dtype)
        assert ours == theirs


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_complex32_comes_as_complex64():
    values = np.array([1 + 2j, 0.5 - 3j, complex(np.nan, -np.inf)], np.complex64)
    theirs = repr(torch.from_numpy(values).to(torch.complex32))
    assert facts_repr(values, dtype="complex32") == theirs


def facts_repr(values, **facts):
    plain: dict[str, Any] = {
        "dtype": "float32",
        "is_default_dtype": False,
        "device": "cpu",
        "is_default_device": True,
        "requires_grad": False,
        "grad_fn": None,
    }
    return printing.tensor_repr(values, **(plain | facts))


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int64"]
)
@pytest.mark.parametrize("shape", [(), (2,), (0,), (0, 2)])
def test_default_dtype(default, dtype, shape):
    bare = {default, "complex128" if default == "float64" else "complex64"}
    values = np.ones(shape, dtype)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        theirs = repr(torch.from_numpy(values)), repr(torch.from_numpy(values).to("meta"))
    finally:
        torch.set_default_dtype(before)
    facts = {"dtype": dtype, "is_default_dtype": dtype in bare}
    ours = (
        facts_repr(values, **facts),
        facts_repr(values, **facts, device="meta", is_default_device=False),
    )
    assert ours == theirs


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (10**6, 10**6)])
@pytest.mark.parametrize("grad", [False, True])
def test_meta(shape, grad):
    theirs = repr(torch.empty(shape, device="meta", requires_grad=grad))
    values = np.broadcast_to(np.float32(0), shape)
    ours = facts_repr(
        values, is_default_dtype=True, device="meta", is_default_device=False, requires_grad=grad
    )
    assert ours == theirs


class Named(torch.Tensor):
    pass


class NamedParameter(torch.nn.Parameter):
    pass


@pytest.mark.parametrize("shape", [(), (3,), (2, 30), (0, 3)])
def test_subclasses_and_parameters(shape):
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    tensor = torch.from_numpy(values)
    subclass = facts_repr(values, is_default_dtype=True, prefix="Named(")
    assert subclass == repr(tensor.as_subclass(Named))

    facts = {"is_default_dtype": True, "requires_grad": True, "is_parameter_like": True}
    plain = facts_repr(values, **facts)
    assert printing.parameter_repr(plain) == repr(torch.nn.Parameter(tensor))
    named = facts_repr(values, **facts, prefix="NamedParameter(")
    assert printing.parameter_repr(named) == repr(NamedParameter(tensor))
    marked = facts_repr(values, **facts, prefix="Named(")
    assert marked == repr(torch.nn.Parameter(tensor.as_subclass(Named)))


@pytest.mark.parametrize(
    "calls",
    [
        [{}],
        [{"profile": "short"}],
        [{"profile": "full", "precision": 2}],
        [{"sci_mode": True, "edgeitems": 7}, {"linewidth": 100}],
        [{"profile": "full"}, {"sci_mode": False, "threshold": 10}, {"profile": "default"}],
    ],
)
def test_options_accumulate_alike(calls):
    with torch_printoptions(), printing.printoptions():
        for call in calls:
            torch.set_printoptions(**call)
            printing.set_printoptions(**call)
        assert printing.get_printoptions() == torch_get_printoptions()
    assert printing.get_printoptions() == torch_get_printoptions()


@st.composite
def bit_patterns(draw):
    """(values, dtype) of arbitrary bits: every nan payload, subnormal and extreme there is."""
    dtype = draw(st.sampled_from(sorted(CARRIERS)))
    carrier = np.dtype(CARRIERS[dtype])
    fewest = 1 if dtype == "float4_e2m1fn_x2" else 0
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=fewest, max_size=4)))
    count = int(np.prod(shape, dtype=int))
    if dtype == "bool":
        flags = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return np.array(flags, bool).reshape(shape), dtype
    size = count * carrier.itemsize
    values = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), carrier)
    return values.reshape(shape), dtype


option_sets = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 20),
        "threshold": st.integers(0, 50) | st.just(float("inf")),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(-1, 200) | st.floats(1, 100),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([True, False, None]),
    },
)


@settings(max_examples=400, deadline=None)
@given(bit_patterns(), option_sets, st.sampled_from(["no", "leaf", "node"]))
def test_any_bits_under_any_options(case, options, grad):
    values, dtype = case
    ours, theirs = both(values, dtype, grad if dtype in DIFFERENTIABLE else "no", options)
    assert ours == theirs
