"""Names that PyTorch keeps to itself and libraries use; NumPy's integers as sizes."""

import importlib
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


BOTH = pytest.mark.parametrize("m", [torchlike, torch], ids=["torchlike", "torch"])


def either(run):
    """What each gives: a value, or the type and words of an error."""
    found = []
    for m in (torchlike, torch):
        try:
            found.append(run(m))
        except Exception as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]
    return found[0]


def numbers(m, shape, dtype):
    return m.arange(int(np.prod(shape))).reshape(shape).to(getattr(m, dtype)) - 3


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8"), ("int8", "float32")])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((3, 4), (5, 4)), ((1, 200), (200, 2))])
@pytest.mark.parametrize("jitted", [False, True])
def test_int_mm(shapes, dtypes, jitted):
    def run(m):
        function = torchlike.jit(m._int_mm) if jitted and m is torchlike else m._int_mm
        product = function(*(numbers(m, s, d) for s, d in zip(shapes, dtypes, strict=True)))
        return product.tolist(), str(product.dtype)

    either(run)


@pytest.mark.sampled(every=5, rest="full")
@pytest.mark.parametrize("largest", [None, True, False])
@pytest.mark.parametrize("k", [None, 1, 2])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg(largest, k, general):
    rng = np.random.default_rng(0)
    a, b = (x @ x.T + np.eye(9) for x in rng.normal(size=(2, 9, 9)))

    def run(m):
        A, B = m.tensor(a), m.tensor(b) if general else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return A, B, *m.lobpcg(A, k=k, B=B, largest=largest, niter=200)

    _, _, expected, _ = run(torch)
    A, B, values, vectors = run(torchlike)
    np.testing.assert_allclose(values.numpy(), expected.numpy(), rtol=1e-6)
    right = vectors if B is None else B @ vectors
    np.testing.assert_allclose((A @ vectors).numpy(), (right * values).numpy(), atol=1e-9)


def test_lobpcg_of_too_few_rows():
    assert either(lambda m: m.lobpcg(m.eye(5), k=2))[0] is ValueError


def test_tensors_as_one_vector_and_back():
    def run(m):
        tensors = [m.ones(2, 3), m.zeros(4), m.ones(())]
        flat = m._utils._flatten_dense_tensors(tensors)
        parts = m._utils._unflatten_dense_tensors(flat * 2, tensors)
        lists = m._utils._take_tensors([*tensors, m.ones(50), m.ones(2, dtype=m.int64)], 40)
        return flat.tolist(), [p.tolist() for p in parts], [[t.numel() for t in x] for x in lists]

    either(run)


@pytest.mark.parametrize("device", [3, "cuda:2", "cpu", "cuda"])
@pytest.mark.parametrize("allow_cpu", [False, True])
def test_index_of_a_device(device, allow_cpu):
    either(lambda m: m._utils._get_device_index(device, allow_cpu=allow_cpu))


class _Two(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("k"), _Two(1, 2)], ids=repr)
def test_an_exception_of_another_thread(error):
    def run(m):
        try:
            raise error
        except Exception:
            wrapped = m._utils.ExceptionWrapper(where="in worker 3")
        try:
            wrapped.reraise()
        except Exception as again:
            first, _, rest = str(again).partition("\n")
            return type(again), first, rest.startswith("Original Traceback")

    either(run)


@BOTH
def test_doors(m):
    name = m.__name__
    assert importlib.import_module(f"{name}._tensor").Tensor is m.Tensor
    assert m._VF.relu(m.tensor([-1.0])).item() == 0
    assert not hasattr(m._VF, "no_such_function")
    with pytest.raises(RuntimeError, match="it does not exist"):
        m.classes.mine.Thing  # noqa: B018
    with m.profiler.itt.range("a"):
        m.profiler.itt.mark("b")
    assert m.autograd.kineto_available() is m.profiler.kineto_available()


@BOTH
def test_numpy_integers_are_sizes(m):
    two, three = np.int64(2), np.int32(3)
    x = m.ones(4, 3)
    for module, of in (
        (m.nn.Linear(three, two), x),
        (m.nn.LayerNorm(three), x),
        (m.nn.RMSNorm(three), x),
        (m.nn.BatchNorm1d(three), x),
        (m.nn.Embedding(three, two), m.tensor([0, 2])),
        (m.nn.Conv1d(np.int64(4), two, two), x),
        (m.nn.GroupNorm(two, np.int64(4)), m.ones(1, 4, 3)),
    ):
        found = module(of)
        assert all(type(n) is int for n in found.shape)
        assert all(type(n) is int for p in module.parameters() for n in p.shape)


@pytest.mark.skipif(torchlike.cuda.is_available(), reason="answers of a machine without a GPU")
def test_helpers_of_devices_and_names():
    for m in (torch, torchlike):
        assert m._utils._get_available_device_type() is None
        assert m._utils._get_all_device_indices() is None
        sizes = [m._utils._element_size(d) for d in (m.float32, m.bool, m.complex64, m.int8)]
        assert sizes == [4, 1, 8, 1]
        with pytest.raises(RuntimeError, match=r"expected torch\.dtype, but got <class 'str'>"):
            m._utils._element_size("float32")
        assert m._utils._import_dotted_name("collections.OrderedDict").__name__ == "OrderedDict"
