"""Gradients, orders and refusals where PyTorch has a convention of its own, against PyTorch."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oracle import compare, refused  # noqa: E402

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


def test_hypot_at_the_origin():
    def run(m):
        a = m.tensor([0.0, 3.0], requires_grad=True)
        b = m.tensor([0.0, 4.0], requires_grad=True)
        m.hypot(a, b).sum().backward()
        return a.grad, b.grad

    compare(run)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("power", [0j, 1 + 0j, 2 + 0j, 0.5 + 0j, 1j, 2 + 1j, -1 + 0j, -1 + 1j])
@pytest.mark.parametrize("number", [True, False])
def test_zero_to_complex_powers(power, number):
    def run(m):
        z = m.tensor([0j, 1 + 1j], requires_grad=True)
        w = power if number else m.tensor(power, requires_grad=True)
        y = z**w
        y.sum().backward(m.ones((), dtype=m.complex64))
        return (y, z.grad) if number else (y, z.grad, w.grad)

    compare(run)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", ["svd", "svdvals", "pinv", "matrix_rank", "cond", "eig"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_matrices_that_are_not_finite(name, bad, batched):
    def run(m):
        a = m.tensor([[1.0, bad], [bad, 3.0]])
        found = getattr(m.linalg, name)(m.stack([m.eye(2), a]) if batched else a)
        return found if isinstance(found, tuple) else (found,)

    if math.isnan(bad) or name == "eig":
        refused(run)
    else:
        compare(run)


@pytest.mark.parametrize("size", [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 3, 3)])
def test_condition_of_an_empty_matrix(size):
    compare(lambda m: (m.linalg.cond(m.zeros(*size)), m.ones(m.linalg.cond(m.zeros(*size)).shape)))


def test_sign_of_a_determinant_that_is_nan():
    compare(lambda m: m.linalg.slogdet(m.tensor([[1.0, math.nan], [2.0, 3.0]])))


DROPS = {
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5),
    "in place": lambda m, x: m.nn.functional.dropout(x, 0.5, inplace=True),
    "channels": lambda m, x: m.nn.functional.dropout1d(x, 0.5),
    "alpha": lambda m, x: m.nn.functional.alpha_dropout(x, 0.5, True),
}


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
@pytest.mark.parametrize("name", DROPS)
def test_dropout_of_integers(name, dtype):
    def run(m):
        return DROPS[name](m, m.ones(1, 4, 2, dtype=getattr(m, dtype)))

    refused(run)
    compare(lambda m: (m.nn.functional.dropout(m.ones(4, dtype=getattr(m, dtype)), 1.0) + 0,))


ODD = {
    "unfold kernel": lambda m: m.nn.functional.unfold(m.ones(1, 1, 4, 4), (2, 0)),
    "unfold dilation": lambda m: m.nn.functional.unfold(m.ones(1, 1, 4, 4), 2, dilation=0),
    "unfold stride": lambda m: m.nn.functional.unfold(m.ones(1, 1, 4, 4), 2, stride=0),
    "unfold padding": lambda m: m.nn.functional.unfold(m.ones(1, 1, 4, 4), 2, padding=-1),
    "fold kernel": lambda m: m.nn.functional.fold(m.ones(1, 4, 9), (4, 4), 0),
    "fold dilation": lambda m: m.nn.functional.fold(m.ones(1, 4, 9), (4, 4), 2, dilation=0),
    "fold stride": lambda m: m.nn.functional.fold(m.ones(1, 4, 9), (4, 4), 2, stride=0),
    "fold padding": lambda m: m.nn.functional.fold(m.ones(1, 4, 9), (4, 4), 2, padding=-1),
    "ctc_loss of nothing": lambda m: m.nn.functional.ctc_loss(
        m.zeros(4, 0, 3),
        m.zeros(0, 2, dtype=m.int64),
        m.zeros(0, dtype=m.int64),
        m.zeros(0, dtype=m.int64),
    ),
    "few strides": lambda m: m.empty_strided((2, 3), (1,)),
    "many strides": lambda m: m.empty_strided((2,), (1, 2)),
    "negative strides": lambda m: m.empty_strided((2, 3), (-1, 1)),
    "negative sizes": lambda m: m.empty_strided((2, -3), (1, 1)),
    "zeros": lambda m: m.zeros(),
    "ones": lambda m: m.ones(),
    "empty": lambda m: m.empty(),
    "randn": lambda m: m.randn(dtype=m.float32),
    "new_zeros": lambda m: m.ones(2).new_zeros(),
    "module to int": lambda m: m.nn.Linear(2, 2).to(int),
    "version": lambda m: inference(m)._version,
    "covariance of bools": lambda m: m.cov(m.ones(2, 3, dtype=m.bool)),
    "correlation of bools": lambda m: m.corrcoef(m.ones(2, 3, dtype=m.bool)),
    "powers of bools": lambda m: m.linalg.vander(m.ones(3, dtype=m.bool)),
    "powers of halves": lambda m: m.linalg.vander(m.ones(3, dtype=m.float16)),
    "rfftn of a number": lambda m: m.fft.rfftn(m.tensor(2.0)),
    "irfftn of a number": lambda m: m.fft.irfftn(m.tensor(2.0)),
    "ihfftn of a number": lambda m: m.fft.ihfftn(m.tensor(2.0)),
    "reflectors": lambda m: m.ormqr(m.ones(4, 3), m.ones(2), m.ones(4, 2)),
}


def inference(m):
    with m.inference_mode():
        return m.ones(2)


@pytest.mark.parametrize("name", ODD)
def test_odd_arguments(name):
    refused(ODD[name])


@pytest.mark.filterwarnings("ignore:Complex modules are", "ignore:Casting complex values")
@pytest.mark.parametrize("kind", [float, complex])
def test_module_to_a_python_type(kind):
    def dtypes(m):
        module = m.nn.Linear(2, 2)
        return str(module.to(kind).weight.dtype), str(module.to(dtype=float).weight.dtype)

    assert dtypes(torchlike) == dtypes(torch)


PAIRS = {
    "number and tensor": lambda m: (1.0, m.tensor(1.0)),
    "tensor and number": lambda m: (m.tensor(1.0), 1.0),
    "inside": lambda m: ([1.0, m.tensor(2.0)], [1.0, 2.0]),
    "under a key": lambda m: ({"a": 1.0}, {"a": m.tensor(1.0)}),
    "kinds of numbers": lambda m: (1.0, 1),
    "list and tensor": lambda m: ([1.0], m.tensor([1.0])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_that_do_not_compare(name):
    def run(m):
        m.testing.assert_close(*PAIRS[name](m))

    refused(run)


def test_one_tolerance():
    def run(m):
        m.testing.assert_close([1.0], [1.0], rtol=1e-4)

    refused(run)
    for m in BOTH:
        m.testing.assert_close(None, None, rtol=1e-4)
        m.testing.assert_close((1,), [1])


@pytest.mark.parametrize("batch", [(1,), (3,), ()])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convolved_volumes_in_memory(batch, dtype):
    def strides(m):
        x = m.ones(*batch, 2, 5, 5, 5, dtype=getattr(m, dtype))
        w = m.ones(4, 2, 3, 3, 3, dtype=x.dtype)
        last = x.to(memory_format=m.channels_last_3d) if batch else x
        found = [
            m.conv3d(last, w),
            m.conv3d(x, w.to(memory_format=m.channels_last_3d)),
            m.conv_transpose3d(last, w.transpose(0, 1).contiguous()),
        ]
        return [tuple(y.stride()) for y in found]

    assert strides(torchlike) == strides(torch)


PACKED = {
    "mul": lambda m, a, b, c: a * b,
    "div": lambda m, a, b, c: a / b,
    "mm": lambda m, a, b, c: a @ b,
    "addmm": lambda m, a, b, c: m.addmm(a, b, c),
    "maximum": lambda m, a, b, c: m.maximum(a, b),
    "lerp": lambda m, a, b, c: m.lerp(a, b, c),
    "addcmul": lambda m, a, b, c: m.addcmul(a, b, c),
    "mse": lambda m, a, b, c: m.nn.functional.mse_loss(a, b),
    "linear": lambda m, a, b, c: m.nn.functional.linear(a, b, c[0]),
}


@pytest.mark.parametrize("name", PACKED)
def test_order_of_packing(name):
    def seen(m):
        found = []
        operands = [m.full((2, 2), float(i), requires_grad=True) for i in (2, 3, 4)]

        def pack(t):
            found.append(t.detach().flatten()[0].item())
            return t

        with m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            PACKED[name](m, *operands)
        return found

    assert seen(torchlike) == seen(torch)


def test_views_in_inference_mode():
    def kinds(m):
        outside = m.ones(2, 2)
        with m.inference_mode():
            inside = m.ones(2, 2)
            made = [
                f(x)
                for x in (outside, inside)
                for f in (
                    lambda x: x[0],
                    lambda x: x.detach(),
                    lambda x: x.t(),
                    lambda x: x.clone(),
                    lambda x: x.data,
                    m.nn.Parameter,
                    lambda x: x.detach().requires_grad_(),
                )
            ]
        return [t.is_inference() for t in made]

    assert kinds(torchlike) == kinds(torch)


def test_scripted_before_its_first_call():
    scripted = torchlike.jit.script(lambda x: x + 1)
    assert not hasattr(scripted, "graph")
    scripted(torchlike.ones(2))
    assert hasattr(scripted, "graph")


def gradients(f, *values):
    def run(m):
        leaves = [m.tensor(v, requires_grad=True) for v in values]
        f(m, *leaves).sum().backward()
        return [leaf.grad for leaf in leaves]

    return run


NAN, INF = math.nan, math.inf


def test_logit_beyond_its_domain():
    compare(gradients(lambda m, x: m.logit(x), [0.0, 1.0, 0.5, -1.0, 2.0, NAN]))


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logaddexp_beside_infinities(name):
    x = [INF, INF, -INF, -INF, 1.0, 500.0, NAN, 3.0]
    y = [1.0, INF, -INF, 2.0, 1.0, -500.0, 1.0, INF]
    compare(gradients(lambda m, x, y: getattr(m, name)(x, y), x, y))


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss", "l1_loss", "mse_loss"])
def test_losses_of_nan(name):
    def loss(m, x, y):
        return getattr(m.nn.functional, name)(x, y, reduction="none")

    compare(gradients(loss, [NAN, 1.0, 0.5, 3.0], [1.0, NAN, 0.5, 0.0]))


def test_margin_loss_of_nan():
    def loss(m, x, y):
        return m.nn.functional.margin_ranking_loss(x, y, m.ones(3), reduction="none")

    compare(gradients(loss, [NAN, 1.0, 0.5], [1.0, NAN, 2.0]))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_ties_with_what_was_there_before(reduce, include_self):
    def scatter(m, x, s):
        at = m.tensor([0, 0, 1, 1])
        return x.scatter_reduce(0, at, s, reduce, include_self=include_self)

    compare(gradients(scatter, [1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]))


def test_distances_by_the_largest_difference():
    def distances(m, x, y):
        return m.cdist(x, y, p=INF)

    compare(gradients(distances, [[1.0, 1.0], [3.0, 1.0]], [[0.0, 0.0], [2.0, 4.0]]))
    compare(gradients(lambda m, x: m.pdist(x, p=INF), [[0.0, 0.0], [1.0, 1.0], [3.0, 1.0]]))
    compare(lambda m: (m.cdist(m.ones(2, 0), m.ones(3, 0), p=INF),))


@pytest.mark.parametrize("name", ["GRU", "LSTM", "RNN"])
def test_the_last_state_of_a_recurrent_layer_alone(name):
    def run(m):
        m.manual_seed(0)
        x = m.ones(4, 3, requires_grad=True)
        state = getattr(m.nn, name)(3, 2)(x)[1]
        (state[1] if name == "LSTM" else state).sum().backward()
        return (x.grad,)

    compare(run)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotients_have_the_gradient_zero(mode):
    def run(m):
        x = m.tensor([1.0, 0.0, math.inf, 5.0], requires_grad=True)
        y = m.tensor([0.0, 0.0, 2.0, math.nan], requires_grad=True)
        quotient = m.div(x, y, rounding_mode=mode)
        quotient.sum().backward()
        return quotient, x.grad, y.grad

    compare(run)


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_extremes_of_segments_that_are_nan_or_infinite(reduce):
    def run(m):
        data = [
            [1.0, 1.0],
            [math.nan, 1.0],
            [3.0, math.nan],
            [math.inf, 1.0],
            [math.inf, -math.inf],
        ]
        x = m.tensor(data, requires_grad=True)
        out = m.segment_reduce(x, reduce, lengths=m.tensor([1, 2, 2]))
        out.sum().backward()
        return out, x.grad

    compare(run)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_nan_gives_no_gradient_to_other_segments(compiled):
    def run(m):
        def product(x):
            return m.segment_reduce(x, "prod", lengths=m.tensor([1, 2, 2, 0, 1]))

        x = m.tensor(
            [[1.0, 2], [math.nan, 3], [3, 0], [4, math.nan], [5, 2], [6, 0]], requires_grad=True
        )
        out = (m.jit(product) if compiled and m is torchlike else product)(x)
        out.sum().backward()
        return out, x.grad

    compare(run)


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_lengths_of_segments_are_integers(dtype):
    data, lengths = torchlike.ones(2), torchlike.ones(2, dtype=getattr(torchlike, dtype))
    with pytest.raises(NotImplementedError, match="not implemented for"):
        torchlike.segment_reduce(data, "sum", lengths=lengths)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_zero_times_a_logarithm_of_nothing_has_no_gradient(jitted):
    def of(m):
        x = m.tensor([0.0, 0.0, 0.0, 2.0], requires_grad=True)
        y = m.tensor([-2.5, -1.5, 0.5, 0.5], requires_grad=True)
        f = m.special.xlog1py
        (torchlike.jit(f) if jitted and m is torchlike else f)(x, y).sum().backward()
        return x.grad.tolist(), y.grad.tolist()

    for ours, theirs in zip(of(torchlike), of(torch), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
