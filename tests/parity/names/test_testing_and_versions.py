"""Small rooms of PyTorch's names, compared with PyTorch."""

import itertools
import warnings

import numpy as np
import pytest

import torchlike
import torchlike.distributed
import torchlike.nn.attention.bias
import torchlike.overrides
import torchlike.utils.benchmark

torch = pytest.importorskip("torch")
import torch.nn.attention.bias  # noqa: E402, F811
import torch.utils.benchmark  # noqa: E402

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int8",
    "uint8",
    "uint16",
    "bool",
    "float8_e4m3fn",
]
ARGUMENTS = [
    {},
    {"noncontiguous": True},
    {"exclude_zero": True},
    {"low": -3, "high": 2.5},
    {"low": -1e9, "high": 1e40},
    {"low": float("nan")},
    {"low": 3, "high": 1},
]


def _made(module, dtype, shape, arguments):
    module.manual_seed(3)
    try:
        t = module.testing.make_tensor(
            shape, dtype=getattr(module, dtype), device="cpu", **arguments
        )
    except ValueError as e:
        return type(e), str(e)
    return str(t.dtype), t.stride(), t.tolist() if t.dtype.is_complex else t.double().tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_make_tensor(dtype, arguments):
    if arguments.get("exclude_zero") and dtype in ("uint16", "float8_e4m3fn"):
        pytest.skip("PyTorch has no masked_fill for it")
    for shape in ((4, 5), (3,), (), (0, 2)):
        assert _made(torch, dtype, shape, arguments) == _made(torchlike, dtype, shape, arguments)


def test_assert_allclose():
    for module in (torch, torchlike):
        x = module.tensor([1.0, 2.0])
        with pytest.warns(FutureWarning, match="assert_close"):
            module.testing.assert_allclose(x, x.double() + 1e-6)
        with pytest.warns(FutureWarning), pytest.raises(AssertionError):
            module.testing.assert_allclose(x, x + 1e-2)


VERSIONS = [
    "1.10.0a",
    "1.10",
    "1.10.0",
    "2.13.0+cu1",
    "2.13.0",
    "parrot",
    "1.2.dev3",
    "1.2a1.dev3",
    "1.2.post1",
    "1.2rc1",
    (1, 2),
    (1, 2, 1),
]


@pytest.mark.parametrize("op", ["__gt__", "__lt__", "__eq__", "__ge__", "__le__"])
def test_versions(op):
    def answer(cls, a, b):
        return getattr(cls(a), op)(b)

    for a, b in itertools.product(VERSIONS, VERSIONS):
        if isinstance(a, str):
            assert answer(torchlike.torch_version.TorchVersion, a, b) == answer(
                torch.torch_version.TorchVersion, a, b
            ), (a, op, b)


def test_return_types():
    found = {n for n in torch.return_types.__all__ if not n.endswith("_out")}
    assert not {n for n in found if not hasattr(torchlike.return_types, n)} - {
        "pytree_register_structseq"
    }
    result = torchlike.max(torchlike.ones(2, 3), 0)
    assert isinstance(result, torchlike.return_types.max)


@pytest.mark.parametrize("name", ["causal_lower_right", "causal_upper_left"])
def test_causal_bias(name):
    r = np.random.default_rng(0)
    q, k = (r.standard_normal((2, 2, n, 4)).astype("f") for n in (3, 5))
    out = []
    for module in (torch, torchlike):
        args = [module.tensor(x) for x in (q, k, k)]
        bias = getattr(module.nn.attention.bias, name)(3, 5)
        out.append(module.nn.functional.scaled_dot_product_attention(*args, attn_mask=bias).numpy())
    np.testing.assert_allclose(*out, rtol=1e-5, atol=1e-6)


def test_conv_tbc():
    r = np.random.default_rng(0)
    arrays = [r.standard_normal(s).astype("f") for s in ((7, 2, 3), (3, 3, 4), (4,))]
    a, b = (m.conv_tbc(*map(m.tensor, arrays), 1).numpy() for m in (torch, torchlike))
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)  # sums of 9 products


def test_dim_order():
    for make in (
        lambda m: m.ones(2, 3, 4, 5),
        lambda m: m.ones(2, 3, 4, 5).to(memory_format=m.channels_last),
        lambda m: m.ones(2, 3, 4, 5).permute(0, 2, 3, 1),
        lambda m: m.ones(3, 1, 1),
        lambda m: m.ones(3).expand(2, 3),
        lambda m: m.ones(()),
    ):
        assert make(torch).dim_order() == make(torchlike).dim_order()


def test_is_set_to():
    for m in (torch, torchlike):
        x = m.ones(2, 3)
        assert x.is_set_to(x.view(2, 3))
        assert not x.is_set_to(x.view(-1))
        assert not x.is_set_to(m.ones(2, 3))


def test_stores(tmp_path):
    answers = []
    for m in (torch, torchlike):
        d = m.distributed
        s = d.HashStore()
        s.set("a", "1")
        got = [
            s.get("a"),
            s.add("n", 3),
            s.add("n", 2),
            s.get("n"),
            s.check(["a", "z"]),
            s.compare_set("a", "1", "2"),
            s.compare_set("q", "1", "2"),
            s.compare_set("q", "", "2"),
            s.delete_key("a"),
            s.delete_key("a"),
        ]
        got.append(s.num_keys())
        d.PrefixStore("p", s).set("a", "3")
        s.append("p/a", "x")
        got.append(s.get("p/a"))
        f = d.FileStore(str(tmp_path / m.__name__), 1)
        f.set("k", b"\x00v")
        got.append(f.get("k"))
        answers.append(got)
    assert answers[0] == answers[1]


def test_stack_dataset():
    for m in (torch, torchlike):
        stack = m.utils.data.StackDataset
        assert stack([1, 2], [3, 4])[0] == (1, 3)
        assert len(stack([1, 2])) == 2
        assert stack(x=[1, 2], y=[3, 4]).__getitems__([1]) == [{"x": 2, "y": 4}]
        for bad in (
            lambda s=stack: s(),
            lambda s=stack: s([1], [1, 2]),
            lambda s=stack: s([1], b=[1]),
        ):
            with pytest.raises(ValueError):
                bad()


def test_units():
    ours, theirs = torchlike.utils.benchmark, torch.utils.benchmark
    for t in (3e-9, 3e-5, 2.0, 0.5, 1e-3):
        assert ours.select_unit(t) == theirs.select_unit(t)
        assert ours.trim_sigfig(t, 3) == pytest.approx(theirs.trim_sigfig(t, 3), rel=1e-6)


def test_torch_function_protocol():
    for m in (torch, torchlike):

        class Asked:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, [t.__name__ for t in types], args

        class Sub(Asked):
            pass

        o = m.overrides
        assert not o.has_torch_function((m.ones(1), 3))
        assert o.has_torch_function((Asked(),))
        a, b = Asked(), Sub()
        name, types, args = o.handle_torch_function(len, (a, b), a, b)
        assert (name, types, args) == ("len", ["Sub", "Asked"], (a, b))
        assert o.is_tensor_like(a)
        assert not o.is_tensor_like(3)


def test_checkpoint_parts():
    for m in (torch, torchlike):
        x = m.ones(2, requires_grad=True)
        (y, n) = m.utils.checkpoint.detach_variable((x * 2, 3))
        assert y.is_leaf
        assert y.requires_grad
        assert n == 3
        with pytest.warns(UserWarning, match="requires_grad=True"):
            m.utils.checkpoint.check_backward_validity([m.ones(1)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            m.utils.checkpoint.check_backward_validity([x])
