"""Calls that eager code refuses for a value among their operands: functions, and what they are
given. Of each kind of check there is at least one."""

import torchlike as torch
import torchlike.nn.functional as F

T = torch.tensor
X = torch.arange(12.0).reshape(3, 4)
BAD = T([1, 7])
NEGATIVE = -torch.eye(3)
SINGULAR = torch.zeros(3, 3)
NANS = SINGULAR / 0


def _written(x, i):
    x = x.clone()
    x[i] = 1.0
    return x


def _asserted(x):
    torch._assert_async(x.sum() > 100)
    return x


def _asserted_with_words(x):
    torch._assert(x.sum() > 100, "small {x}")
    return x


def _checked(x):
    torch._check_tensor_all(x > 100)
    return x


def _masked(x, value):
    x = torch.zeros(3, 4, dtype=torch.uint8)
    x[X > 2] = value
    return x


CASES = {
    "mask_put range": (_masked, X, T(300)),
    "isclose": (lambda x: torch.isclose(x, x, rtol=-1.0), X),
    "scatter_reduce_value": (lambda x, i: x.scatter(1, i, 2.0, reduce="add"), X, T([[9]])),
    "renorm": (lambda x: x.renorm(2, 0, -1.0), X),
    "gather": (lambda x, i: torch.gather(x, 1, i), X, T([[9]])),
    "gather negative": (lambda x, i: torch.gather(x, 1, i), X, T([[-1]])),
    "scatter": (lambda x, i: x.scatter(1, i, 1.0), X, T([[9]])),
    "scatter_src": (lambda x, i: x.scatter(1, i, x), X, T([[9]])),
    "scatter_add": (lambda x, i: x.scatter_add(1, i, x), X, T([[9]])),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(1, i, x, "amax"), X, T([[9]])),
    "index_select": (lambda x, i: x.index_select(0, i), X, BAD),
    "index_select 1": (lambda x, i: x.index_select(1, i), X, BAD),
    "take": (lambda x, i: x.take(i), X, T([12])),
    "put": (lambda x, i: x.put(i, T([1.0])), X, T([12])),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 1), X, T([[9]])),
    "index_fill": (lambda x, i: x.index_fill(0, i, 1.0), X, BAD),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), X, BAD),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2]), X, BAD),
    "index_reduce": (lambda x, i: x.index_reduce(0, i, x[:2], "prod"), X, BAD),
    "index_put": (lambda x, i: x.index_put((i,), T(1.0)), X, BAD),
    "x[i]": (lambda x, i: x[i], X, BAD),
    "x[i,j]": (lambda x, i: x[:, i], X, BAD),
    "x[i0]": (lambda x, i: x[i], X, T(7)),
    "x[i]=": (_written, X, BAD),
    "embedding": (lambda i, w: F.embedding(i, w), BAD, X),
    "embedding negative": (lambda i, w: F.embedding(i, w), T([-1]), X),
    "embedding max_norm": (lambda i, w: F.embedding(i, w.clone(), max_norm=1.0), BAD, X),
    "embedding_bag": (lambda i, w: F.embedding_bag(i, w, T([0])), BAD, X),
    "embedding_bag offsets": (lambda i, w, o: F.embedding_bag(i, w, o), T([0, 1]), X, T([1])),
    "embedding_bag long": (lambda i, w, o: F.embedding_bag(i, w, o), T([0, 1]), X, T([0, 9])),
    "nll_loss": (lambda x, t: F.nll_loss(x, t), X, T([0, 9, 1])),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), X, T([0, 9, 1])),
    "cross_entropy negative": (lambda x, t: F.cross_entropy(x, t), X, T([0, -1, 1])),
    "cross_entropy weighted": (
        lambda x, t: F.cross_entropy(x, t, weight=torch.ones(4), label_smoothing=0.1),
        X,
        T([0, 9, 1]),
    ),
    "nll_loss2d": (lambda x, t: F.nll_loss(x, t), torch.ones(1, 3, 2, 2), T([[[0, 1], [5, 0]]])),
    "multi_margin": (lambda x, t: F.multi_margin_loss(x, t), X, T([0, 9, 1])),
    "multilabel_margin": (lambda x, t: F.multilabel_margin_loss(x, t), X[0], T([0, 9, -1, -1])),
    "one_hot": (lambda t: F.one_hot(t, 3), T([0, 5])),
    "one_hot negative": (lambda t: F.one_hot(t, 3), T([0, -1])),
    "ctc lengths": (
        lambda x, t, a, b: F.ctc_loss(x, t, a, b),
        torch.zeros(5, 1, 3).log_softmax(2),
        T([[1, 2]]),
        T([9]),
        T([2]),
    ),
    "bce": (lambda x, t: F.binary_cross_entropy(x, t), X, torch.ones(3, 4)),
    "bce target": (lambda x, t: F.binary_cross_entropy(x, t), torch.ones(3, 4) * 0.5, X),
    "gaussian_nll": (lambda x, v: F.gaussian_nll_loss(x, x, v), X, -torch.ones(3, 4)),
    "max_unpool": (lambda x, i: F.max_unpool2d(x, i, 2), torch.ones(1, 1, 1, 1), T([[[[9]]]])),
    "repeat_interleave": (lambda x, r: x.repeat_interleave(r, 0, output_size=5), X, T([1, 1, 1])),
    "cholesky": (torch.linalg.cholesky, NEGATIVE),
    "cholesky old": (torch.cholesky, NEGATIVE),
    "cholesky_ex": (lambda a: torch.linalg.cholesky_ex(a, check_errors=True).L, NEGATIVE),
    "inv": (torch.linalg.inv, SINGULAR),
    "inverse": (torch.inverse, SINGULAR),
    "solve": (lambda a: torch.linalg.solve(a, torch.ones(3)), SINGULAR),
    "solve batch": (
        lambda a: torch.linalg.solve(a, torch.ones(2, 3)),
        torch.stack([torch.eye(3), SINGULAR]),
    ),
    "tensorinv": (lambda a: torch.linalg.tensorinv(a, 1), SINGULAR),
    "lu_factor": (lambda a: torch.linalg.lu_factor(a).LU, SINGULAR),
    "lu_solve": (
        lambda a, p: torch.linalg.lu_solve(a, p, torch.ones(3, 1)),
        torch.eye(3),
        T([1, 2, 9], dtype=torch.int32),
    ),
    "lu_unpack": (
        lambda a, p: torch.lu_unpack(a, p)[0],
        torch.eye(3),
        T([1, 2, 9], dtype=torch.int32),
    ),
    "ldl_factor": (lambda a: torch.linalg.ldl_factor(a).LD, SINGULAR),
    "ldl_solve": (
        lambda a, p: torch.linalg.ldl_solve(a, p, torch.ones(3, 1)),
        torch.eye(3),
        T([1, 2, 9], dtype=torch.int32),
    ),
    "svd nan": (lambda a: torch.linalg.svd(a)[1], NANS),
    "polar nan": (torch.linalg.polar, NANS),
    "svdvals nan": (torch.linalg.svdvals, NANS),
    "eigvals nan": (torch.linalg.eigvals, NANS),
    "pinv nan": (torch.linalg.pinv, NANS),
    "matrix_rank nan": (torch.linalg.matrix_rank, NANS),
    "cholesky_inverse": (torch.cholesky_inverse, SINGULAR),
    "quantile": (lambda x, q: x.quantile(q), X, T([0.5, 1.5])),
    "nanquantile": (lambda x, q: x.nanquantile(q), X, T(-0.5)),
    "cov weights": (lambda x, w: torch.cov(x, fweights=w), X, T([1, 1, -1, 1])),
    "searchsorted sorter": (
        lambda x, s: torch.searchsorted(x, T([1.0]), sorter=s),
        T([1.0, 2.0]),
        T([0, 9]),
    ),
    "histc nan": (lambda x: torch.histc(x), T([1.0, float("nan")])),
    "histogram nan": (lambda x: torch.histogram(x, 3).hist, T([1.0, float("inf")])),
    "segment_reduce": (
        lambda x, n: torch.segment_reduce(x, "sum", lengths=n),
        T([1.0, 2.0]),
        T([3]),
    ),
    "segment negative": (
        lambda x, n: torch.segment_reduce(x, "sum", lengths=n),
        T([1.0, 2.0]),
        T([3, -1]),
    ),
    "masked_scatter": (lambda x, k: x.masked_scatter(k, T([1.0])), X, X > 2),
    "masked_fill range": (
        lambda k, v: torch.zeros(3, 4, dtype=torch.uint8).masked_fill(k, v),
        X > 2,
        T(300),
    ),
    "index_fill range": (
        lambda i, v: torch.zeros(3, dtype=torch.uint8).index_fill(0, i, v),
        T([1]),
        T(300),
    ),
    "full range": (lambda v: torch.full((3,), v, dtype=torch.uint8), T(300)),
    "integer division": (lambda a, b: a // b, T([1, 2]), T([0, 1])),
    "remainder": (lambda a, b: a % b, T([1, 2]), T([0, 1])),
    "fmod": (lambda a, b: torch.fmod(a, b), T([1, 2]), T([0, 1])),
    "div floor": (lambda a, b: torch.div(a, b, rounding_mode="floor"), T([1, 2]), T([0, 1])),
    "_assert_async": (_asserted, X),
    "_assert": (_asserted_with_words, X),
    "_check_tensor_all": (_checked, X),
    "fake_quantize": (
        lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, 0, 255),
        X,
        torch.ones(3),
        T([0, 0, 999], dtype=torch.int32),
    ),
    "multinomial": (lambda p: torch.multinomial(p, 2), -torch.ones(4)),
    "bernoulli": (torch.bernoulli, T([0.5, 1.5])),
    "normal std": (lambda s: torch.normal(torch.zeros(2), s), T([1.0, -1.0])),
    "scatter_ dim0": (lambda x, i: x.scatter_add(0, i, x), X, T([[9, 0, 0, 0]])),
    "gather 0-dim": (lambda x, i: x.gather(0, i), T(3.0), T(2)),
}
