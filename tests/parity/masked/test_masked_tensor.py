"""``MaskedTensor`` against PyTorch's: making, printing, computing, gradients, errors."""

from __future__ import annotations

import warnings

import pytest

from tests.parity import oracle

DATA, MASK = [[1.0, 2, 3], [4, 5, 6]], [[True, False, True], [True, True, False]]


def described(result):
    """A masked tensor as what its mask shows and its mask; anything else as it is."""
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        return [described(r) for r in result]
    if type(result).__name__ != "MaskedTensor":
        return result.detach() if hasattr(result, "detach") else result
    layout = str(result.layout)
    requires_grad = result.requires_grad
    data, mask = result.get_data().detach(), result.get_mask()
    if layout != "torch.strided":
        data, mask = data.to_dense(), mask.to_dense()
    return ["masked", layout, data * mask, mask, str(data.dtype), requires_grad]


def scope(t):
    d, m = t.tensor(DATA), t.tensor(MASK)
    make = t.masked.masked_tensor
    return {
        "t": t,
        "F": t.nn.functional,
        "M": t.masked,
        "d": d,
        "m": m,
        "make": make,
        "repr": repr,
        "mt": make(d, m, requires_grad=True),
        "n": make(d, m),
        "u": make(d * 2, m),
        "len": len,
        "ints": make(t.arange(4), t.tensor([True, False, True, True])),
        "bool": bool,
        "type": type,
        "bools": make(d > 2, m),
        "i": lambda *x: t.tensor(x),
        "no": t.tensor([False, False]),
        "empty": make(d[0], t.tensor([False, False, False])),
        "float": float,
        "isinstance": isinstance,
    }


MAKING = [
    "n",
    "mt",
    "ints",
    "empty",
    "bools",
    "repr(n)",
    "repr(ints)",
    "repr(empty)",
    "repr(mt + 1)",
    "repr(make(t.tensor(1.5), t.tensor(True)))",
    "repr(make(t.tensor(1), t.tensor(False)))",
    "repr(make(t.ones(2, 1, 2), t.ones(2, 1, 2) > 0))",
    "repr(n.to_sparse())",
    "repr(bools)",
    "repr(make(i(12345678901, 2), i(True, False)))",
    "M.as_masked_tensor(d, m)",
    "M.is_masked_tensor(n)",
    "M.is_masked_tensor(d)",
    "isinstance(n, M.MaskedTensor)",
    "isinstance(n, t.Tensor)",
    "n.get_data()",
    "n.get_mask()",
    "n.to_tensor(0)",
    "n.to_tensor(-1.0)",
    "n.shape",
    "n.size()",
    "n.size(0)",
    "n.dim()",
    "n.ndim",
    "n.numel()",
    "len(n)",
    "n.dtype",
    "n.device.type",
    "n.stride()",
    "n.is_contiguous()",
    "n.is_sparse",
    "mt.requires_grad",
    "mt.is_leaf",
    "(mt + 1).is_leaf",
    "n.clone()",
    "mt.detach()",
    "n.contiguous()",
    "n.to(t.float64)",
    "n.double()",
    "n.float() is n",
    "n.int()",
    "n.bool()",
    "n.to_sparse()",
    "n.to_sparse_csr()",
    "n.to_sparse().to_dense()",
    "n.to_sparse_csr().to_dense()",
    "t.ones_like(n)",
    "n[0, 0].item()",
    "n.item()",
    "bool(n[0, 0] > 0)",
    "n.is_same_size(u)",
    "mt.grad",
    "n.tolist()",
    "n.numpy()",
]
COMPUTING = [
    "n + u",
    "n - u",
    "n * 2",
    "n / u",
    "2 * n",
    "n + t.ones(3)",
    "n ** 2",
    "n // 2",
    "n % 2",
    "-n",
    "n == u",
    "n != u",
    "n > 2",
    "n < 2",
    "n >= u",
    "n <= 3",
    "n.eq(1)",
    "n.add(u)",
    "t.sub(n, 1)",
    "n.mul(u)",
    "t.div(n, 2)",
    "t.exp(n)",
    "n.sin()",
    "n.log()",
    "n.sqrt()",
    "n.abs()",
    "n.square()",
    "n.tanh()",
    "n.sigmoid()",
    "n.clamp(2, 4)",
    "n.floor()",
    "n.round()",
    "t.isnan(n)",
    "t.maximum(n, u)",
    "t.minimum(n, u)",
    "t.atan2(n, u)",
    "t.fmod(n, 2)",
    "n.reciprocal()",
    "n.rsqrt()",
    "n.log1p()",
    "n.erf()",
    "n.sign()",
    "n.nan_to_num()",
    "ints + 1",
    "ints * ints",
    "ints & 1",
    "ints | 1",
    "bools & bools",
    "n.logaddexp(u)",
    "n.add_(1)",
    "n.mul_(u)",
    "n.sqrt_()",
    "n.exp_()",
    "n.clamp_(2, 3)",
    "n[0]",
    "n[0, 1]",
    "n[:, 1]",
    "n[:, ::2]",
    "n[i(1, 0)]",
    "n[d > 1]",
    "n.select(0, 1)",
    "n.t()",
    "n.transpose(0, 1)",
    "n.view(3, 2)",
    "n.reshape(6)",
    "n.flatten()",
    "n.unsqueeze(0)",
    "n.expand(2, 2, 3)",
    "n.split(1)",
    "n.chunk(3, 1)",
    "n.narrow(1, 0, 2)",
    "t.cat([n, u])",
    "t.stack([n, u])",
    "n.unfold(1, 2, 1)",
    "t.where(d > 2, n, u)",
    "t.where(d > 2, n, d)",
    "n.softmax(-1)",
    "t.softmax(n, 0)",
    "F.softmax(n, 1)",
    "n.to_sparse() + n.to_sparse()",
    "n.to_sparse().sin()",
    "n.to_sparse() * 2",
    "n.to_sparse_csr().abs()",
    "n.copy_(u)",
]
REDUCING = [
    f"{call}"
    for name in ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "var", "std")
    for call in (f"n.{name}()", f"n.{name}(1)", f"t.{name}(n, 0)", f"n.{name}(1, keepdim=True)")
] + [
    "bools.all()",
    "bools.all(1)",
    "n.sum((0, 1))",
    "n.sum(1, dtype=t.float64)",
    "n.mean(dim=0)",
    "empty.sum()",
    "empty.amax()",
    "ints.sum()",
    "ints.amax()",
    "M.sum(n)",
    "M.sum(n, 1)",
    "M.prod(n, 1)",
    "M.amax(n, 1)",
    "M.amin(n)",
    "M.argmax(n, 1)",
    "M.softmax(n, -1)",
    "M.log_softmax(n, -1)",
    "M.cumsum(n, 1)",
    "M.cumprod(n, 1)",
    "M.normalize(n, 2.0, 1)",
    "M.logsumexp(n, 1)",
    "M.norm(n, 2.0, 1)",
    "M.median(n, 1)",
    "n.sum(-1)",
]
ERRORS = [
    "make([1], m)",
    "make(d, [1])",
    "make(n, m)",
    "make(d, n)",
    "make(d, m.int())",
    "make(d, m[0])",
    "make(d, m[:1])",
    "make(d.to(t.uint8), m)",
    "make(d, m.to_sparse())",
    "n + make(d, ~m)",
    "n.add_(make(d, ~m))",
    "t.ones(2, 3).to_sparse_csr() and n[None].to_sparse_csr()",
    "mt.sqrt_()",
    "n.to_sparse().is_contiguous()",
    "make(d.to(t.complex64), m)",
    "n[0, 1].item()",
]
#: In words of PyTorch's dispatcher.
UNWORDED = {"n[0, 1].item()"}


def run(text):
    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(eval(text, {}, scope(t)))

    return function


@pytest.mark.sampled(every=12, rest="full")
@pytest.mark.parametrize("text", [*MAKING, *COMPUTING, *REDUCING, *ERRORS])
def test_as_pytorch(text):
    oracle.compare(run(text), words=0 if text in UNWORDED else None)


LOSSES = [
    "(mt * 2).sum()",
    "mt.sin().sum()",
    "(mt * mt).mean()",
    "mt.prod()",
    "mt.amax()",
    "mt.mean(1).sum()",
    "mt.softmax(-1).amax(1).sum()",
    "(mt + d).exp().sum()",
    "mt.t().sum(0).sum()",
    "t.cat([mt, mt]).sum()",
    "M.sum(mt)",
    "(mt / 2).amin()",
]


@pytest.mark.sampled(every=5, rest="full")
@pytest.mark.parametrize("text", LOSSES)
def test_gradients(text):
    """Of a masked leaf, and of data through ``as_masked_tensor``: what the mask shows."""

    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d, m = t.tensor(DATA), t.tensor(MASK)
            leaf, data = (
                t.masked.masked_tensor(d, m, requires_grad=True),
                d.clone().requires_grad_(),
            )
            for mt in (leaf, t.masked.as_masked_tensor(data, m)):
                eval(text, {"t": t, "mt": mt, "d": d, "M": t.masked}).backward()
            return described(leaf.grad), described(data.grad)[2] if type(
                data.grad
            ) is not t.Tensor else data.grad * m

    oracle.compare(function)


def test_warnings():
    def function(t):
        t.masked.masked_tensor(t.ones(2, requires_grad=True), t.tensor([True, False]))

    oracle.compare(function, warned=60)


IN_PLACE = (
    "acos_",
    "atan_",
    "bitwise_not_",
    "cosh_",
    "deg2rad_",
    "digamma_",
    "erfinv_",
    "expm1_",
    "frac_",
    "i0_",
    "lgamma_",
    "log1p_",
    "nan_to_num_",
    "sgn_",
    "sinc_",
    "tan_",
)


@pytest.mark.parametrize("name", IN_PLACE)
def test_unary_functions_in_place(name):
    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = name == "bitwise_not_"
            data = t.tensor([3, 5, -7, 9] if whole else [0.25, 0.5, -0.75, 0.125])
            mask = t.tensor([True, False, True, True])
            m = t.masked.masked_tensor(data, mask)
            returned = getattr(m, name)()
        return m.get_data()[mask], m.get_mask(), returned is m

    oracle.compare(function)


def test_private_comparisons_of_masked_tensors():
    def function(t):
        from_core = t.masked.maskedtensor.core
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a, b = t.tensor([1.0, 2]), t.tensor([1.0, 2 + 1e-7])
            m, n = (t.masked.masked_tensor(a, t.tensor([True, s])) for s in (True, False))
        return (
            from_core._tensors_match(a, a),
            from_core._tensors_match(a, b * 2),
            from_core._tensors_match(a, b, exact=False),
            from_core._masks_match(m, n),
            from_core._masks_match(m, m),
            from_core._masks_match(a, m),
        )

    oracle.compare(function)
