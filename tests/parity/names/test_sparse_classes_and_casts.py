"""Names from before today's: sparse classes by dtype, casts by name, identities of tensors."""

from __future__ import annotations

import pytest

import torchlike
from torchlike._core.errors import JitCaptureError

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
    pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor"),
]


def parts(t):
    at = t.tensor([[0, 1, 1], [2, 0, 2]])
    return at, t.tensor([3.0, 4.0, 5.0])


def said(call, t):
    """What a call gives, all of it; or the error and the first line of its words."""
    try:
        x = call(t)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    if isinstance(x, t.Tensor) and x.is_sparse:
        shown = x._indices().tolist(), x._values().tolist(), tuple(x.shape), x.is_coalesced()
        return (x.type(), x.requires_grad, *shown)
    return repr(x).replace("torchlike.", "torch.")


SPARSE = [
    lambda t: t.sparse.FloatTensor(*parts(t), t.Size([2, 3])),
    lambda t: t.sparse.FloatTensor(*parts(t), [4, 3]),
    lambda t: t.sparse.FloatTensor(*parts(t)),
    lambda t: t.sparse.FloatTensor(*parts(t), size=(2, 3)),
    lambda t: t.sparse.FloatTensor(indices=parts(t)[0], values=parts(t)[1]),
    lambda t: t.sparse.FloatTensor(parts(t)[0], parts(t)[1].double(), (2, 3)),
    lambda t: t.sparse.LongTensor(parts(t)[0], parts(t)[1].long()),
    lambda t: t.sparse.FloatTensor(parts(t)[0], parts(t)[1].requires_grad_(), (2, 3)),
    lambda t: t.sparse.FloatTensor(2, 3),
    lambda t: t.sparse.DoubleTensor(t.Size([2, 3])),
    lambda t: t.sparse.FloatTensor(),
    lambda t: t.sparse.FloatTensor(parts(t)[0].int(), parts(t)[1], (2, 3)),
    lambda t: t.sparse.FloatTensor(*parts(t), (2,)),
    lambda t: t.sparse.FloatTensor([[0, 1], [1, 0]], [1.0, 2.0]),
    lambda t: t.sparse.FloatTensor(*parts(t), parts(t)[0]),
    lambda t: t.sparse.FloatTensor(parts(t)[0]),
    lambda t: t.sparse.FloatTensor,
    lambda t: (t.sparse.FloatTensor.__name__, t.sparse.FloatTensor.dtype),
    lambda t: sorted(
        n
        for n in dir(t.sparse)
        if n.endswith("Tensor")
        and n[0] in "BCDFHILS"
        and hasattr(getattr(t.sparse, n), "dtype")
        and not n.startswith("Sparse")
    ),
]


@pytest.mark.parametrize("call", SPARSE)
def test_sparse_classes(call):
    assert said(call, torchlike) == said(call, torch)


def test_whose_instances_tensors_are():
    def told(t):
        x = t.sparse_coo_tensor(*parts(t), (2, 3))
        kinds = t.sparse.FloatTensor, t.sparse.DoubleTensor, t.FloatTensor, t.Tensor
        return [[isinstance(y, k) for k in kinds] for y in (x, x.double(), x.to_dense())]

    assert told(torchlike) == told(torch)


def test_products_by_their_older_name():
    def told(t):
        at, values = parts(t)
        values.requires_grad_()
        dense = t.arange(6.0).reshape(3, 2).requires_grad_()
        y = t.dsmm(t.sparse.FloatTensor(at, values, (2, 3)), dense)
        (y * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        flat = t.dsmm(dense, dense.t())
        return [x.tolist() for x in (y, values.grad, dense.grad, flat)]

    assert told(torchlike) == told(torch)


CASTS = ["Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]


@pytest.mark.parametrize("name", CASTS)
@pytest.mark.parametrize("jitted", [False, True])
def test_casts(name, jitted):
    def told(t):
        cast = getattr(t, f"_cast_{name}")
        x = t.tensor([1.5, -2.0, 3.75]).abs().requires_grad_()
        y = (torchlike.jit(cast) if jitted and t is torchlike else cast)(x)
        if y.requires_grad:
            (y * y).sum().backward()
        return (
            y.tolist(),
            str(y.dtype).split(".")[1],
            y.requires_grad,
            x.grad is None or (x.grad.tolist()),
        )

    assert told(torchlike) == told(torch)
    for t in (torchlike, torch):
        x = t.ones(2)
        assert (t._cast_Float(x, True) is x) is True


def test_one_tensor_or_two():
    def told(t):
        p = t.nn.Parameter(t.ones(3))
        before = p._cdata
        same = [p._cdata == q._cdata for q in (p, p.detach(), p.data, p[:], p.view(3))]
        p.data = t.zeros(4)
        layer = t.nn.Linear(2, 2)
        weight = layer.weight._cdata
        layer.double()
        with pytest.raises(AttributeError):
            p._cdata = 1
        return same, p._cdata == before, type(before), layer.weight._cdata == weight

    assert told(torchlike) == told(torch)


def test_one_tensor_or_two_is_not_told_in_a_capture():
    x = torchlike.ones(2)
    with pytest.raises(JitCaptureError, match="_cdata"):
        torchlike.jit(lambda y: y + (y._cdata == x._cdata))(x)


PRIVATE = [
    lambda t: t._C._is_tracing(),
    lambda t: t.cuda._initialized,
    lambda t: t.nn.init._no_grad_uniform_(t.manual_seed(0) and t.empty(3), -1, 2),
    lambda t: t.nn.init._no_grad_normal_(t.manual_seed(0) and t.empty(3), 1, 2),
    lambda t: t.nn.init._no_grad_trunc_normal_(t.manual_seed(0) and t.empty(3), 0, 1, -1, 1),
    lambda t: t.nn.init._no_grad_fill_(t.nn.Parameter(t.empty(3)), 2.0),
    lambda t: t.nn.init._no_grad_zero_(t.nn.Parameter(t.empty(3))),
    lambda t: t.distributions.multivariate_normal._precision_to_scale_tril(
        t.tensor([[2.0, 0.5], [0.5, 1.0]])
    ),
]


@pytest.mark.parametrize("call", PRIVATE)
def test_private_names(call):
    assert said(call, torchlike) == said(call, torch)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated")
def test_tracing_says_so():
    for t in (torchlike, torch):
        seen = []

        def traced(x, t=t, seen=seen):
            seen.append(t._C._is_tracing())
            return x + 1

        t.jit.trace(traced, (t.ones(2),), check_trace=False)
        assert set(seen) == {True}
