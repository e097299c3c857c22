"""Strategies: what they draw is what they say, covers what they promise, and fits torchlike."""

import sys

import pytest

import torchlike as torch
from torchlike.testing import assert_matches_eager

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import Phase, find, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from torchlike.testing import strategies  # noqa: E402
from torchlike.testing.strategies import (  # noqa: E402
    DTYPES,
    LAYOUTS,
    SHAPES,
    dtypes,
    indices,
    modules,
    programs,
    shapes,
    tensors,
)
from torchlike.testing.strategies.printing import source_of  # noqa: E402

torchlike_profile = settings(settings.get_profile("torchlike"), database=None, derandomize=True)
EVERY = [d for kind in DTYPES.values() for d in kind]


@torchlike_profile
@given(tensors(dtypes(), requires_grad=st.booleans()))
def test_tensors_are_of_the_pool(t):
    assert t.dtype in EVERY
    assert tuple(t.shape) in SHAPES
    assert t.is_leaf
    assert not t.requires_grad or t.dtype.is_floating_point or t.dtype.is_complex


FOUND = {
    "a nan": lambda t: bool(t.isnan().any()),
    "an infinity": lambda t: bool(t.isinf().any()),
    "a negative zero": lambda t: bool(((t == 0) & t.signbit()).any()),
    "no element": lambda t: t.numel() == 0,
    "a scalar": lambda t: t.dim() == 0,
    "non-contiguous": lambda t: not t.is_contiguous(),
    "expanded": lambda t: 0 in t.stride() and t.numel() > 1,
    "an offset": lambda t: t.storage_offset() > 0,
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("what", FOUND)
def test_each_kind_of_tensor_is_found(what):
    many = settings(torchlike_profile, max_examples=1000)  # it ends with the first that is found
    found = find(tensors(), FOUND[what], settings=many)
    assert FOUND[what](found)


@pytest.mark.parametrize("dtype", EVERY, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_dtypes(dtype, layout):
    @settings(torchlike_profile, max_examples=5)
    @given(tensors(dtype, (2, 3), layouts=[layout], special=False, low=0, high=3))
    def run(t):
        assert (t.dtype, tuple(t.shape)) == (dtype, (2, 3))
        values = torch.tensor(t.tolist(), dtype=torch.complex128)
        assert bool(((values.real >= 0) & (values.real <= 3)).all())
        assert t.is_contiguous() == (layout in ("contiguous", "offset"))

    run()


def example_of(strategy, refuses):
    """What hypothesis prints of the example that it shrinks to."""

    @torchlike_profile
    @given(x=strategy)
    def run(x):
        assert not refuses(x)

    with pytest.raises(AssertionError) as error:
        run()
    text = "\n".join(error.value.__notes__)
    return text.partition("x=")[2].partition(",\n)")[0]


SHRINKS = {
    "torch.tensor(50.0)": (
        tensors(dtypes("float"), high=90, low=-90, special=False),
        lambda x: bool((x >= 50).any()),
    ),
    "torch.tensor([1.0, 1.0, 0.0])": (
        tensors(special=False),
        lambda x: x.dim() > 0 and bool(((x[..., 1:] == x[..., :-1]) & (x[..., 1:] == 1)).any()),
    ),
    "torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).as_strided((3,), (2,))": (
        tensors(special=False),
        lambda x: not x.is_contiguous() and x.numel() > 1,
    ),
    "torch.tensor([0, 0, 3])": (tensors(torch.int64), lambda x: x.shape == (3,) and bool(x[2] > 2)),
    "torch.tensor(0.0).requires_grad_()": (
        tensors(requires_grad=st.booleans()),
        lambda x: x.requires_grad,
    ),
    "torch.tensor(torch.nan, dtype=torch.bfloat16)": (
        tensors(torch.bfloat16),
        lambda x: bool(x.isnan().any()),
    ),
    "torch.tensor([[0.0, 0.0], [0.0, 0.0]]).permute(1, 0)": (
        tensors(shape=(2, 2), layouts=LAYOUTS[:2]),
        lambda x: x.stride() == (1, 2),
    ),
    "torch.tensor([0])": (
        indices((3, 4)),
        lambda i: any(isinstance(part, torch.Tensor) for part in (i if type(i) is tuple else (i,))),
    ),
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("printed", SHRINKS)
def test_examples_shrink_and_print_as_python(printed):
    strategy, refuses = SHRINKS[printed]
    assert example_of(strategy, refuses) == printed
    assert refuses(eval(printed, {"torch": torch}))


@torchlike_profile
@given(tensors(dtypes(), requires_grad=st.booleans()))
def test_the_python_of_a_tensor_makes_it(t):
    made = eval(source_of(t), {"torch": torch})
    assert (made.dtype, made.shape, made.requires_grad) == (t.dtype, t.shape, t.requires_grad)
    if t.numel():
        # That of a single row or column is anything.
        strides = [
            [s for n, s in zip(x.shape, x.stride(), strict=True) if n > 1] for x in (made, t)
        ]
        assert strides[0] == strides[1]
        assert made.storage_offset() == t.storage_offset()
    torch.testing.assert_close(made, t, rtol=0, atol=0, equal_nan=True)


def test_tensors_that_python_does_not_make():
    w = torch.ones(2, requires_grad=True)
    for t in (w * 2, torch.nn.Parameter(w.detach()), torch.ones(2, device="meta"), w.to_sparse()):
        assert source_of(t) is None
    assert source_of(torch.zeros(5000)) is None


def test_examples_of_modules_and_programs_are_python():
    case = example_of(modules("linear"), lambda c: bool((c.inputs[0] >= 1).any()))
    made = eval(case, {"torch": torch, "module_case": strategies.module_case})
    assert made.inputs[0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    program = example_of(programs((2, 2)), lambda p: "neg_" in p.source)
    made = eval(program, {"InPlaceProgram": strategies.InPlaceProgram})
    assert made(torch.ones(2, 2))[0].tolist() == [[-1, -1], [-1, -1]]


def test_bounds_that_a_dtype_does_not_hold():
    @torchlike_profile
    @given(tensors(torch.bfloat16, special=False, low=-0.3, high=0.1))
    def run(t):
        assert bool(((t.double() >= -0.3) & (t.double() <= 0.1)).all())

    run()
    found = find(tensors(low=0.1, high=0.1, special=False), lambda t: t.numel() > 0)
    assert found.flatten()[0] == 0.1  # the nearest of float32


def test_shapes():
    @torchlike_profile
    @given(shapes([2, 3], zero=False))
    def run(size):
        assert len(size) in (2, 3)
        assert 0 not in size

    run()
    with pytest.raises(ValueError, match="no shape of the pool has"):
        shapes([7])


@torchlike_profile
@given(st.data())
def test_indices_fit(data):
    size = data.draw(shapes())
    index = data.draw(indices(size, masks=True))
    t = torch.arange(torch.Size(size).numel()).reshape(size)
    written = t.clone()
    written[index] = -1
    assert bool((t[index] >= 0).all())
    assert int((written == -1).sum()) == t[index].unique().numel()


@settings(torchlike_profile, max_examples=15)
@given(programs(), tensors(shape=(3, 4), special=False, layouts=LAYOUTS[:4]))
def test_programs_compile_to_what_they_do(program, x):
    assert_matches_eager(program.function, x)


def test_programs_show_their_source():
    program = find(programs((2, 2)), lambda p: "add_" in p.source, settings=torchlike_profile)
    assert "def program(x):" in repr(program)
    (x, *_) = program(torch.zeros(2, 2))
    assert x.sum().item() != 0


@settings(torchlike_profile, max_examples=10)
@given(modules())
def test_modules_take_their_inputs(case):
    before = torch.get_rng_state()
    result = case.module(*case.inputs)
    result = result if isinstance(result, torch.Tensor) else result[0]
    assert len(result) == len(case.inputs[0])
    torch.set_rng_state(before)


def test_modules_by_name():
    first = settings(
        torchlike_profile, phases=[Phase.generate]
    )  # whichever: none smaller is sought
    found = find(modules("lstm", training=False), lambda _: True, settings=first)
    assert type(found.module) is torch.nn.LSTM
    assert not found.module.training
    with pytest.raises(ValueError, match="unknown module 'gan': one of linear"):
        modules("gan")


def test_bad_input():
    with pytest.raises(ValueError, match="unknown kind of dtypes 'quantized'"):
        dtypes("quantized")
    with pytest.raises(TypeError, match=r"dtype must be a torch\.dtype or a strategy"):
        tensors("float32")
    with pytest.raises(ValueError, match="layouts must be some of"):
        tensors(layouts=["sparse"])
    with pytest.raises(ValueError, match="low must not be above high"):
        tensors(low=2, high=1)


def test_a_dtype_that_the_device_lacks():
    with pytest.raises(ValueError, match=r"the device 'cpu' cannot hold torch\.quint8"):
        tensors(torch.quint8)
    drawn = tensors(st.just(torch.quint8))
    with pytest.raises(ValueError, match="cannot hold"):
        find(drawn, lambda _: True, settings=torchlike_profile)
    with pytest.raises(RuntimeError):
        tensors(torch.float32, device="cuda")


def test_without_hypothesis(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("torchlike.testing.strategies")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match=r"pip install 'torchlike\[testing\]'"):
        __import__("torchlike.testing.strategies")
    assert strategies.tensors is tensors
