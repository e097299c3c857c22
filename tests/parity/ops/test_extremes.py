"""Values that 16 bits, an infinity or a NaN make hard, against PyTorch."""

import numpy as np
import pytest
from oracle import compare, same, with_gradients

import torchlike

torch = pytest.importorskip("torch")


def both(function, *arrays, dtype="float32", rtol=None, atol=None, grad=True):
    """Value and gradients of ``function(library, *tensors)`` agree."""
    values = [np.asarray(a).tolist() for a in arrays]
    if grad:
        compare(with_gradients(function, *values, dtype=dtype), rtol=rtol, atol=atol)
        return

    def run(library):
        tensors = [library.tensor(v, dtype=getattr(library, dtype)) for v in values]
        return function(library, *tensors)

    compare(run, rtol=rtol, atol=atol)


#: PyTorch rounds to 16 bits on the way, too: two bits of float16.
TWO_BITS = 2e-3
HALF = np.array([-300.0, -30.0, -17.0, -5.0, -0.3, 0.0, 0.4, 6.0, 12.0, 17.0, 25.0, 60000.0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("silu", {}),
        ("mish", {}),
        ("softplus", {}),
        ("softplus", {"beta": 3, "threshold": 30}),
        ("elu", {"alpha": 2.0}),
        ("selu", {}),
        ("celu", {"alpha": 0.5}),
        ("logsigmoid", {}),
        ("hardsigmoid", {}),
        ("hardswish", {}),
    ],
)
@pytest.mark.parametrize(("dtype", "rtol"), [("float16", TWO_BITS), ("bfloat16", 1.6e-2)])
def test_activations_of_16_bits_are_computed_in_float32(name, options, dtype, rtol):
    both(lambda m, x: getattr(m.nn.functional, name)(x, **options), HALF, dtype=dtype, rtol=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [("float16", TWO_BITS), ("bfloat16", 1.6e-2)])
def test_glu_of_16_bits(dtype, rtol):
    # PyTorch rounds what its gradient is made of, so that is compared where it is not tiny.
    both(lambda m, x: m.nn.functional.glu(x), HALF, dtype=dtype, rtol=rtol, grad=False)
    both(lambda m, x: m.nn.functional.glu(x), [-60000.0, 3.0, -1.5, 0.5], dtype=dtype, rtol=rtol)


def test_hinge_embedding_of_integers_stays_integer():
    def value(m, x):
        return m.nn.functional.hinge_embedding_loss(
            x, m.tensor([1, -1, -1]), margin=1.5, reduction="none"
        )

    both(value, [3, -2, 0], dtype="int64", grad=False)


def test_hardswish_at_infinity_is_pytorchs():
    both(lambda m, x: m.nn.functional.hardswish(x), [-np.inf, -3.0, 1.0, 3.0, np.inf])


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, np.inf])
def test_norms_of_float16_do_not_overflow(order):
    x = np.linspace(-900.0, 1000.0, 24).reshape(4, 6)
    grad = order != 3  # PyTorch's own gradient multiplies squares in float16
    both(
        lambda m, x: m.linalg.vector_norm(x, order, dim=1),
        x,
        dtype="float16",
        rtol=TWO_BITS,
        grad=grad,
    )
    both(lambda m, x: m.norm(x, order), x, dtype="float16", rtol=TWO_BITS, grad=grad)


def test_matrix_norm_and_out_of_float16():
    x = np.full((3, 3), 400.0)
    both(lambda m, x: m.linalg.matrix_norm(x), x, dtype="float16", rtol=TWO_BITS)
    out = torchlike.empty((), dtype=torchlike.float16)
    torchlike.linalg.vector_norm(torchlike.full((9,), 400.0, dtype=torchlike.float16), out=out)
    assert out.item() == 1200


def test_distances_of_float16_do_not_overflow():
    x, y = np.linspace(-900.0, 1000.0, 8).reshape(2, 4), np.ones((2, 4))
    functional = ("pairwise_distance", "cosine_similarity", "triplet_margin_loss")
    for name, rest in zip(functional, ((), (), (0.5,)), strict=True):
        both(
            lambda m, x, y, name=name, rest=rest: getattr(m.nn.functional, name)(
                x, y, *(x.detach() + r for r in rest)
            ),
            x,
            y,
            dtype="float16",
            rtol=TWO_BITS,
            atol=1e-4,
        )


def test_renorm_of_float16_does_not_overflow():
    x = np.linspace(-900.0, 1000.0, 8).reshape(2, 4)
    both(lambda m, x: m.renorm(x, 2, 0, 1.5), x, dtype="float16", rtol=TWO_BITS, grad=False)


def test_the_largest_row_of_a_bag_may_be_nan():
    def value(m, x):
        rows, starts = m.tensor([0, 1, 1, 2]), m.tensor([0, 2])
        return m.nn.functional.embedding_bag(rows, x, starts, mode="max")

    both(value, [[1.0, np.nan], [2.0, 0.5], [0.3, 4.0]])


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 200.0])
def test_normalize_in_float16(scale):
    x = np.array([[3.0, -4.0], [1.0, 2.0]]) * scale
    # PyTorch divides by a norm of 16 bits, which is denormal beside the small numbers.
    both(lambda m, x: m.nn.functional.normalize(x), x, dtype="float16", rtol=6e-3, grad=False)


def test_gradients_of_float16_are_clipped_not_erased():
    totals = []
    for library in (torch, torchlike):
        p = library.zeros(50, dtype=library.float16, requires_grad=True)
        p.grad = library.full((50,), 100.0, dtype=library.float16)
        total = library.nn.utils.clip_grad_norm_([p], 1.0)
        totals.append((total.item(), p.grad.double().tolist()))
    same(totals[1], totals[0], rtol=TWO_BITS)


def test_local_response_norm_sums_in_float32():
    x = np.full((1, 4, 3), 200.0)
    both(lambda m, x: m.nn.functional.local_response_norm(x, 3), x, dtype="float16", rtol=TWO_BITS)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("out", [3, 4, 9])
def test_adaptive_means_keep_infinities_in_their_window(bad, out):
    x = np.arange(14.0).reshape(1, 2, 7)
    x[0, 1, 2] = bad
    both(lambda m, x: m.nn.functional.adaptive_avg_pool1d(x, out), x)
    both(lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, (2, out)), x[:, None])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (11, 5)])
def test_antialiased_resampling_keeps_infinities_in_reach(mode, size):
    x = np.random.default_rng(0).normal(size=(1, 1, 9, 10))

    def resampled(m, x):
        return m.nn.functional.interpolate(x, size, mode=mode, antialias=True)

    both(resampled, x, rtol=2e-5)
    x[0, 0, 1, 1] = np.nan
    both(resampled, x, rtol=2e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "loss",
    [
        lambda F, x, y, s, r: F.hinge_embedding_loss(x, s, reduction=r),
        lambda F, x, y, s, r: F.margin_ranking_loss(x, y, s, reduction=r),
        lambda F, x, y, s, r: F.triplet_margin_loss(x, y, y + 1, reduction=r),
        lambda F, x, y, s, r: F.cosine_embedding_loss(x, y, -s[:, 0], reduction=r),
    ],
)
def test_margin_losses_do_not_hide_nan(loss, reduction):
    x, y = [[1.0, np.nan, 2.0], [0.5, 1.0, 2.0]], [[1.0, 2.0, 2.0], [0.5, 3.0, 2.0]]

    def value(m, x, y):
        signs = m.tensor([[-1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
        return loss(m.nn.functional, x, y, signs, reduction)

    both(value, x, y, grad=False)


def test_gaussian_nll_of_an_infinite_variance():
    def value(m, x):
        return m.nn.functional.gaussian_nll_loss(
            x, m.zeros(2), m.tensor([np.inf, 0.0]), reduction="none"
        )

    both(value, [1.0, 2.0])


@pytest.mark.parametrize("weighted", [(), ("weight",), ("pos_weight",)])
@pytest.mark.parametrize(
    ("name", "input", "target", "weight"),
    [
        ("binary_cross_entropy_with_logits", "float32", "float16", "float32"),
        ("binary_cross_entropy_with_logits", "float16", "float16", "float64"),
        ("binary_cross_entropy", "float16", "float16", "float32"),
        ("gaussian_nll_loss", "float16", "float16", "float32"),
    ],
)
def test_the_dtype_of_a_loss_of_mixed_dtypes(name, input, target, weight, weighted):
    if name == "gaussian_nll_loss" or ("logits" not in name and "pos_weight" in weighted):
        weighted = ()
    kinds = []
    for library in (torch, torchlike):
        x = library.tensor([0.2, 0.7], dtype=getattr(library, input))
        y = library.tensor([0.5, 1.0], dtype=getattr(library, target))
        w = library.tensor([0.5, 2.0], dtype=getattr(library, weight))
        rest = (w,) if name == "gaussian_nll_loss" else ()
        out = getattr(library.nn.functional, name)(x, y, *rest, **dict.fromkeys(weighted, w))
        kinds.append((str(out.dtype).split(".")[1], round(out.item(), 2)))
    assert kinds[0] == kinds[1]


REFUSED = {
    "kl_div of integers": lambda m: m.nn.functional.kl_div(
        m.zeros(2), m.ones(2, dtype=m.int64), reduction="sum"
    ),
    "mean of integers": lambda m: m.nn.functional.hinge_embedding_loss(
        m.ones(2, dtype=m.int64), m.ones(2, dtype=m.int64)
    ),
    "labels of integers": lambda m: m.nn.functional.multilabel_soft_margin_loss(
        m.ones(1, 2, dtype=m.int64), m.ones(1, 2)
    ),
    "no dimensions": lambda m: m.nn.functional.cross_entropy(m.tensor(1.0), m.tensor(1.0)),
    "hardtanh of bytes": lambda m: m.nn.functional.hardtanh(m.ones(2, dtype=m.uint8)),
    "softmax of integers": lambda m: m.nn.functional.softmax(m.ones(2, 2, dtype=m.int64), -1),
    "softmax over rows": lambda m: m.nn.functional.softmax(m.ones(2, 2, dtype=m.int64), 0),
    "means of int32": lambda m: m.nn.functional.avg_pool2d(m.ones(1, 2, 2, dtype=m.int32), 2),
    "means of bytes": lambda m: m.nn.functional.avg_pool3d(m.ones(1, 2, 2, 2, dtype=m.uint8), 2),
    "response of bytes": lambda m: m.nn.functional.local_response_norm(
        m.ones(1, 2, 2, dtype=m.uint8), 2
    ),
    "adaptive means of nothing": lambda m: m.nn.functional.adaptive_avg_pool1d(m.ones(2, 0), 3),
    "adaptive means of no rows": lambda m: m.nn.functional.adaptive_avg_pool2d(m.ones(2, 0, 3), 3),
    "adaptive means of no channels": lambda m: m.nn.functional.adaptive_avg_pool3d(
        m.ones(2, 0, 3, 3, 3), 3
    ),
    "adaptive maxima of nothing": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(2, 0), 3),
    "adaptive maxima of no channels": lambda m: m.nn.functional.adaptive_max_pool2d(
        m.ones(2, 0, 3, 3), 3
    ),
    "no channels": lambda m: m.nn.functional.interpolate(m.ones(1, 0, 6), 9),
    "batch norm of a vector": lambda m: m.nn.functional.batch_norm(
        m.ones(6), None, None, training=True
    ),
    "rms norm of a number": lambda m: m.nn.functional.rms_norm(m.tensor(1.0), (6,)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(case):
    errors = []
    for library in (torch, torchlike):
        with pytest.raises(Exception) as raised:
            REFUSED[case](library)
        errors.append((type(raised.value).__name__, str(raised.value)))
    assert errors[0] == errors[1]
