"""Sample arguments for the families of nn.functional, in the smallest shapes that tell."""

from __future__ import annotations

from op_harness import B, Case, F, I, V, case, numbered

from torchlike._runtime.reference import follows

NAN, INF = float("nan"), float("inf")
#: Kinks of the activations, and what lies beyond them.
KINKS = V([-4.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 4.0, 6.0, 7.0, 25.0])
U = {"low": 0.05, "high": 0.95}
C3 = V([1.0, 0.5, 2.0, 0.1, 1.5], grad=False)
LABELS = V([1, 4, 0, 2], "int64")
SIGNS = V([1, -1, -1, 1], "int64")


def f(name: str, *args: object, **kwargs: object) -> Case:
    # Shapes of second gradients would double the compilations; one case of a family has them.
    kwargs.setdefault("skip", "second strides out method")
    return case(f"nn.functional.{name}", *args, **kwargs)


def full(name: str, *args: object, **kwargs: object) -> Case:
    """With second gradients and strides."""
    return f(name, *args, skip="out method", **kwargs)


_SIMPLE = [
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "softsign",
    "tanhshrink",
    "hardtanh",
    "hardsigmoid",
    "hardswish",
    "hardshrink",
    "softshrink",
    "logsigmoid",
]
_WITH_INPLACE = "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardsigmoid hardswish"

ACTIVATION = [
    *(f(n, F(2, 3).t(), skip="second out method") for n in _SIMPLE),
    *(full(n, F(4)) for n in ("relu", "gelu", "silu", "softplus")),
    *(f(n, KINKS) for n in _SIMPLE),
    *(f(n, F(3, dtype="float64")) for n in ("gelu", "softplus", "mish")),
    f("relu", I(5)),
    f("relu6", I(9)),
    f("hardtanh", I(9), -2, 3),
    f("threshold", I(5), 1, 7),
    f("leaky_relu", F(3), 0.2),
    f("elu", F(3), 1.3),
    f("celu", F(3), alpha=0.7),
    f("gelu", F(4), approximate="tanh"),
    f("softplus", F(4), 2, 1),
    f("hardshrink", F(4), 0.1),
    f("softshrink", F(4), 0.3),
    f("threshold", F(4), 0.1, 20),
    f("hardtanh", F(4), -0.5, 1.5),
    f("glu", F(2, 4)),
    f("glu", F(4, 3), 0),
    full("prelu", F(2, 3, 2), F(3)),
    f("prelu", F(4), F(1)),
    f("prelu", F(2, 3), F()),
]
INPLACE = [f(n, F(2, 3), inplace=True) for n in _WITH_INPLACE.split()] + [
    f("threshold", F(4), 0.1, 20, inplace=True),
    f("leaky_relu", F(4), 0.2, True),
]

SOFTMAX = [
    *(full(n, F(2, 3), 1) for n in ("softmax", "log_softmax", "softmin")),
    *(f(n, F(2, 3), 0) for n in ("softmax", "log_softmax")),
    f("softmax", F(), 0),
    *(f(n, V([-INF, 1.0, 2.0]), 0, skip="grad") for n in ("softmax", "log_softmax")),
    f("softmax", I(4), 0, dtype="dtype:float64"),
    f("log_softmax", F(4), 0, dtype="dtype:float64"),
    case("softmax", F(2, 3), -1, skip="second out"),
    case("log_softmax", F(2, 3), 0, skip="second out"),
    f("normalize", F(2, 3)),
    f("normalize", F(2, 3), p=1, dim=0),
    f("normalize", F(2, 3), dim=(0, 1)),
    full("cosine_similarity", F(2, 3), F(2, 3)),
    f("cosine_similarity", F(2, 3), F(3), dim=-1),
    *(f("pairwise_distance", F(2, 3), F(2, 3), p=p) for p in (1, 2, 3.0)),
    f("pairwise_distance", F(2, 3), F(3), keepdim=True),
    f("one_hot", I(4, low=0)),
    f("one_hot", I(2, 3, low=0), 7),
]

CONV = [
    full("conv1d", F(2, 2, 5), F(3, 2, 2), F(3)),
    full("conv2d", F(2, 2, 5, 4), F(3, 2, 2, 3), F(3)),
    f("conv3d", F(1, 2, 3, 4, 3), F(2, 2, 2, 2, 2), F(2)),
    f("conv2d", F(2, 6, 5), F(3, 2, 2, 3)),
    f("conv2d", F(2, 6, 5, 7), F(3, 6, 3, 3), F(3), 2, 1),
    f("conv2d", F(1, 6, 7, 7), F(3, 6, 3, 3), dilation=2),
    f("conv2d", F(2, 4, 6, 6), F(6, 2, 3, 3), F(6), padding=1, groups=2),
    f("conv2d", F(2, 3, 6, 6), F(3, 1, 3, 3), groups=3),
    f("conv2d", F(2, 5, 6, 6), F(3, 5, 1, 1), F(3)),
    f("conv2d", F(2, 6, 5, 6), F(3, 6, 2, 3), padding="same"),
    f("conv1d", F(2, 6, 9), F(3, 6, 3), padding="valid"),
    f("conv1d", F(2, 6, 9), F(3, 6, 4), padding="same", dilation=2),
    f("conv1d", I(1, 2, 5), I(3, 2, 2)),
    full("conv_transpose1d", F(2, 2, 4), F(2, 3, 3), F(3), 2),
    full("conv_transpose2d", F(1, 2, 3, 4), F(2, 3, 2, 3), F(3)),
    f("conv_transpose2d", F(1, 4, 3, 3), F(4, 2, 3, 3), F(4), 2, 1, 1, 2),
    f("conv_transpose2d", F(2, 3, 3), F(2, 2, 2, 2), dilation=2),
    f("conv_transpose3d", F(1, 2, 2, 3, 2), F(2, 2, 2, 2, 2), stride=2),
    f("unfold", F(1, 2, 4, 5), (2, 3), padding=1, stride=2),
    f("unfold", F(2, 4, 5), 2, dilation=2),
    f("fold", F(1, 8, 9), (4, 4), 2),
    f("fold", F(1, 12, 9), (4, 5), (2, 3), padding=1, stride=2),
]

#: Many ties: the gradient must go to the first maximum.
TIES = V([[[[1, 1, 0, 2, 2], [1, 0, 0, 2, 1], [2, 2, 1, 1, 1], [0, 2, 1, 1, 1], [0, 0, 0, 0, 0]]]])
POOL = [
    *(
        f("max_pool2d", TIES, *a)
        for a in ((2,), (3, 2), (3, 2, 1), (2, 1, 0, 2), (3, 2, 1, 1, True))
    ),
    *(
        f("max_pool2d", TIES, *a, return_indices=True)
        for a in ((2,), (3, 2, 1), (2, 2, 0, 1, True))
    ),
    f("max_pool1d", F(2, 3, 7), 2),
    f("max_pool1d", F(3, 7), 3, 2, return_indices=True),
    f("max_pool3d", F(1, 2, 4, 4, 4), 2, return_indices=True),
    f("max_pool2d", I(1, 1, 4, 4), 2),
    f("max_pool2d", V([[[NAN, 1.0], [2.0, NAN]]]), 2, return_indices=True, skip="grad"),
    full("avg_pool2d", F(1, 2, 5, 5), 2),
    f("avg_pool2d", F(1, 2, 5, 5), 3, 2, 1, True, False),
    f("avg_pool2d", F(2, 5, 5), 3, 2, 1, True),
    f("avg_pool2d", F(1, 2, 5, 5), 2, divisor_override=3),
    f("avg_pool1d", F(2, 2, 7), 3, 2, 1),
    f("avg_pool3d", F(1, 1, 4, 4, 4), 2),
    f("avg_pool2d", I(1, 1, 4, 4), 2),
    *(f("adaptive_avg_pool2d", F(1, 2, 6, 5), s) for s in (1, (3, 5), (4, None), 7)),
    *(f("adaptive_max_pool2d", F(1, 2, 6, 5), s, return_indices=True) for s in (1, (4, 3))),
    f("adaptive_avg_pool1d", F(2, 2, 7), 3),
    f("adaptive_max_pool1d", F(2, 2, 7), 3),
    f("adaptive_avg_pool3d", F(1, 1, 4, 3, 5), 2),
    f("adaptive_max_pool3d", F(1, 1, 4, 3, 5), 2),
    f("lp_pool2d", F(1, 2, 4, 4, **U), 2.0, 2),
    f("lp_pool1d", F(1, 2, 5, **U), 3, 2, 1),
    f("max_unpool2d", F(1, 1, 2, 2), V([[[[0, 3], [8, 15]]]], "int64"), 2),
]

NORM = [
    full("batch_norm", F(4, 2, 3), F(2, grad=False), F(2, grad=False, **U), F(2), F(2)),
    full("batch_norm", F(4, 2, 3), None, None, F(2), F(2), True),
    full("layer_norm", F(2, 3, 4), (4,), F(4), F(4)),
    f("layer_norm", F(2, 3, 4), (3, 4)),
    full("rms_norm", F(2, 3, 4), (4,), F(4)),
    f("rms_norm", F(2, 3), (3,), eps=0.1),
    full("group_norm", F(2, 4, 3), 2, F(4), F(4)),
    f("group_norm", F(2, 4, 3), 4, eps=0.1),
    f("instance_norm", F(2, 2, 5), None, None, F(2), F(2)),
    *(f("local_response_norm", F(2, 4, 3), n, alpha=0.3) for n in (2, 3)),
]

_REDUCTIONS = ("mean", "sum", "none")
LOSS = [
    *(f("cross_entropy", F(4, 5), LABELS, reduction=r) for r in _REDUCTIONS),
    *(
        f("cross_entropy", F(4, 5), LABELS, C3, ignore_index=4, label_smoothing=0.2, reduction=r)
        for r in _REDUCTIONS
    ),
    *(
        f("cross_entropy", F(4, 5), F(4, 5, grad=False, **U), C3, label_smoothing=0.2, reduction=r)
        for r in _REDUCTIONS
    ),
    full("cross_entropy", F(4, 5), LABELS, C3, label_smoothing=0.1),
    full("cross_entropy", F(4, 5), F(4, 5, **U)),
    f("cross_entropy", F(5), V(3, "int64")),
    f("cross_entropy", F(2, 3, 2, 2), I(2, 2, 2, low=0, high=3)),
    f("cross_entropy", F(4, 5), V([-100] * 4, "int64")),
    *(f("nll_loss", F(4, 5), LABELS, C3, ignore_index=2, reduction=r) for r in _REDUCTIONS),
    f("nll_loss", F(2, 3, 4), I(2, 4, low=0, high=3)),
    f("nll_loss", F(2, 3, 2, 2), I(2, 2, 2, low=0, high=3)),
    *(
        f(n, F(2, 3), F(2, 3), reduction=r)
        for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
        for r in ("mean", "none")
    ),
    *(
        f(n, F(2, 3), F(2, 3), weight=F(2, 3, grad=False, **U))
        for n in ("mse_loss", "l1_loss", "huber_loss")
    ),
    full("mse_loss", F(2, 3), F(2, 3)),
    f("smooth_l1_loss", F(2, 3), F(2, 3), beta=0.3),
    f("mse_loss", F(3), F(3, dtype="float64")),
    f("huber_loss", F(3), F(3), delta=0.4),
    full("binary_cross_entropy", F(4, **U), F(4, **U)),
    f("binary_cross_entropy", F(2, 3, **U), F(2, 3, **U), F(3, grad=False)),
    f("binary_cross_entropy", V([0.0, 1.0, 1.0]), V([0.0, 0.0, 1.0], grad=False)),
    full("binary_cross_entropy_with_logits", F(4), F(4, **U)),
    f(
        "binary_cross_entropy_with_logits",
        F(2, 3, low=-60, high=60),
        F(2, 3, **U),
        F(3, grad=False),
        pos_weight=F(3, grad=False, **U),
    ),
    *(f("kl_div", F(2, 3), F(2, 3, **U), reduction=r) for r in ("sum", "none", "batchmean")),
    f("kl_div", F(2, 3), F(2, 3), reduction="sum", log_target=True),
    *(f("multi_margin_loss", F(4, 5), LABELS, p=p, margin=0.7, weight=C3) for p in (1, 2)),
    f("multilabel_margin_loss", F(2, 4), V([[1, 2, -1, 0], [3, -1, 0, 0]], "int64")),
    f("multilabel_soft_margin_loss", F(2, 3), F(2, 3, **U), F(3, grad=False)),
    f("soft_margin_loss", F(4), V([1.0, -1.0, 1.0, -1.0], grad=False)),
    f("triplet_margin_loss", F(3, 4), F(3, 4), F(3, 4)),
    f("triplet_margin_loss", F(3, 4), F(3, 4), F(3, 4), swap=True, p=1),
    f("triplet_margin_with_distance_loss", F(3, 4), F(3, 4), F(3, 4), swap=True),
    f("cosine_embedding_loss", F(4, 3), F(4, 3), SIGNS, margin=0.1),
    f("margin_ranking_loss", F(4), F(4), SIGNS, margin=0.1),
    f("hinge_embedding_loss", F(4), SIGNS, margin=0.4),
    f("poisson_nll_loss", F(2, 3), F(2, 3, low=0, high=4)),
    f("poisson_nll_loss", F(3, **U), F(3, low=0, high=4), log_input=False, full=True),
    f("gaussian_nll_loss", F(2, 3), F(2, 3), F(2, 3, **U), full=True),
    f("gaussian_nll_loss", F(2, 3), F(2, 3), F(2, **U)),
    f("gaussian_nll_loss", F(2, 3, 4), F(2, 3, 4), F(2, 1, 4, **U)),
]

EMBED = [
    f("embedding", I(2, 3, low=0), F(6, 3)),
    f("embedding", I(5, low=0), F(6, 3), padding_idx=3),
    f("embedding", V([1, 1, 4], "int64"), F(6, 3), scale_grad_by_freq=True),
    f("embedding", I(3, low=0, dtype="int32"), F(6, 3)),
    *(f("embedding_bag", I(2, 3, low=0), F(6, 3), mode=m) for m in ("sum", "mean", "max")),
    f("embedding_bag", I(5, low=0), F(6, 3), V([0, 2, 2], "int64"), padding_idx=1),
    f("embedding_bag", I(2, 3, low=0), F(6, 3), mode="sum", per_sample_weights=F(2, 3)),
]

Q, K = (2, 3, 4), (2, 5, 4)
ATTENTION = [
    # Where it is fused, PyTorch has no second derivative of it.
    (f if follows("attention lies as its query") else full)(
        "scaled_dot_product_attention", F(*Q), F(*K), F(*K)
    ),
    f("scaled_dot_product_attention", F(1, *Q), F(1, *K), F(1, 2, 5, 3), is_causal=True),
    f("scaled_dot_product_attention", F(1, *Q), F(1, *K), F(1, *K), F(3, 5, grad=False), scale=0.3),
    f(
        "scaled_dot_product_attention",
        F(1, *Q),
        F(1, *K),
        F(1, *K),
        V([[True] * 5, [False] * 5, [True, False] * 2 + [True]], "bool"),
    ),
    f("scaled_dot_product_attention", F(1, 4, 3, 4), F(1, 2, 5, 4), F(1, 2, 5, 4), enable_gqa=True),
]

PAD = [
    f("pad", F(2, 3), (1, 2)),
    f("pad", F(2, 3, 4), (1, 0, 2, 1), value=2.5),
    f("pad", F(2, 5), (-1, 2)),
    f("pad", I(3), (1, 1), "constant", 7),
    *(f("pad", F(1, 2, 4, 5), (2, 1, 1, 2), mode=m) for m in ("reflect", "replicate", "circular")),
    *(f("pad", F(2, 5), (-1, 2), mode=m) for m in ("reflect", "replicate", "circular")),
    f("pad", F(1, 1, 2, 3, 3), (1, 1, 1, 1, 1, 0), mode="reflect"),
    f("pixel_shuffle", F(1, 8, 2, 3), 2),
    f("pixel_unshuffle", F(1, 2, 4, 6), 2),
    f("channel_shuffle", F(1, 6, 2, 2), 3),
]

RESAMPLE = [
    *(
        f("interpolate", F(1, 2, 5), size=s, mode=m)
        for m in ("nearest", "nearest-exact", "linear", "area")
        for s in (3, 8)
    ),
    f("interpolate", F(1, 1, 4, 5), scale_factor=2),
    f("interpolate", F(1, 1, 4, 5), scale_factor=1.7, mode="bilinear"),
    f(
        "interpolate",
        F(1, 1, 4, 5),
        scale_factor=(0.6, 2),
        mode="bilinear",
        align_corners=True,
    ),
    f(
        "interpolate",
        F(1, 1, 4, 5),
        scale_factor=1.7,
        mode="bilinear",
        recompute_scale_factor=True,
    ),
    f("interpolate", F(1, 1, 4, 5), size=(7, 3), mode="bicubic"),
    f("interpolate", F(1, 1, 4, 5), size=6, mode="bicubic", align_corners=True),
    f("interpolate", F(1, 1, 2, 3, 3), size=4, mode="trilinear"),
    *(
        f("interpolate", F(1, 1, 7, 6), size=3, mode=m, antialias=True)
        for m in ("bilinear", "bicubic")
    ),
    *(
        f("grid_sample", F(1, 2, 4, 3), F(1, 2, 3, 2), m, p, c)
        for m, p, c in (
            ("bilinear", "zeros", False),
            ("bilinear", "border", True),
            ("bilinear", "reflection", False),
            ("nearest", "zeros", True),
            ("bicubic", "reflection", True),
        )
    ),
    f("grid_sample", F(1, 1, 2, 3, 3), F(1, 2, 2, 2, 3), align_corners=False),
    f("affine_grid", F(1, 2, 3), (1, 1, 3, 4), True),
    f("affine_grid", F(1, 3, 4), (1, 1, 2, 3, 2), False),
]


def _weights(gates: int, inputs: int, hidden: int) -> list[object]:
    return [
        F(gates * hidden, inputs),
        F(gates * hidden, hidden),
        F(gates * hidden),
        F(gates * hidden),
    ]


def _layers(gates: int, inputs: int, hidden: int, directions: int) -> list[object]:
    first = [w for _ in range(directions) for w in _weights(gates, inputs, hidden)]
    return first + [
        w for _ in range(directions) for w in _weights(gates, directions * hidden, hidden)
    ]


_GATES = {"gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_SIZES = V([2, 2, 1], "int64")
RECURRENT = [
    case(
        "lstm",
        F(3, 2, 2),
        [F(1, 2, 3), F(1, 2, 3)],
        _weights(4, 2, 3),
        True,
        1,
        0.0,
        False,
        False,
        False,
        skip="out strides method",
    ),
    case(
        "lstm",
        F(2, 3, 2),
        [F(4, 2, 3), F(4, 2, 3)],
        _layers(4, 2, 3, 2),
        True,
        2,
        0.0,
        True,
        True,
        True,
        skip="out second strides method",
    ),
    case(
        "lstm",
        F(5, 2),
        _SIZES,
        [F(2, 2, 3), F(2, 2, 3)],
        _layers(4, 2, 3, 2)[:8],
        True,
        1,
        0.0,
        True,
        True,
        skip="out second strides method",
    ),
    *(
        case(
            k,
            F(3, 2, 2),
            F(2, 2, 3),
            _layers(g, 2, 3, 2)[:8],
            True,
            1,
            0.0,
            True,
            True,
            False,
            skip="out second strides method",
        )
        for k, g in _GATES.items()
    ),
    case(
        "gru",
        F(5, 2),
        _SIZES,
        F(1, 2, 3),
        _weights(3, 2, 3)[:2],
        False,
        1,
        0.0,
        True,
        False,
        skip="out second strides method",
    ),
    *(
        case(
            f"{k}_cell",
            F(2, 2),
            F(2, 3),
            *_weights(g, 2, 3),
            skip="out second strides method",
        )
        for k, g in _GATES.items()
    ),
    case(
        "lstm_cell",
        F(2, 2),
        [F(2, 3), F(2, 3)],
        *_weights(4, 2, 3),
        skip="out second strides method",
    ),
]

CASES = numbered(
    ACTIVATION
    + SOFTMAX
    + CONV
    + POOL
    + NORM
    + LOSS
    + EMBED
    + ATTENTION
    + PAD
    + RESAMPLE
    + RECURRENT
)
INPLACE_CASES = numbered(INPLACE)

ERRORS = numbered(
    [
        f("relu", B(3)),
        f("gelu", I(3)),
        f("glu", F(3)),
        f("glu", F()),
        f("softplus", I(3)),
        f("hardtanh", F(3), 2.0, 1.0),
        f("gelu", F(3), approximate="x"),
        f("prelu", F(2, 3), F(4)),
        f("prelu", F(3), F(3, dtype="float64")),
        f("celu", F(3), 0.0),
        f("softshrink", F(3), -1.0),
        f("softmax", F(3), 3),
        f("cosine_similarity", I(2, 3), I(2, 3)),
        f("one_hot", V([-1, 2], "int64")),
        f("one_hot", V([1, 2], "int64"), 2),
        f("one_hot", V([1.0])),
        f("conv2d", F(2, 3, 8, 8), F(4, 2, 3, 3)),
        f("conv2d", F(3), F(4, 3, 3, 3)),
        f("conv2d", F(1, 3, 2, 2), F(4, 3, 3, 3)),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3), F(5)),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3, dtype="float64"), skip="words"),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3), stride=2, padding="same"),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3), padding="foo"),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3), padding=-1),
        f("conv2d", F(1, 3, 5, 5), F(4, 3, 3, 3), stride=0),
        f("conv1d", F(2, 3, 8, 8), F(4, 3, 3)),
        f("conv_transpose2d", F(1, 3, 5, 5), F(3, 4, 3, 3), output_padding=1),
        f("conv_transpose2d", F(1, 3, 5, 5), F(4, 4, 3, 3)),
        f("unfold", F(1, 1, 3, 3), 4),
        f("fold", F(1, 12, 8), (4, 4), 2),
        f("max_pool2d", F(3), 2),
        f("max_pool2d", F(1, 1, 4, 4), 2, padding=2),
        f("max_pool2d", F(1, 1, 4, 4), 9),
        f("max_pool1d", F(1, 1, 4, 4), 2),
        f("avg_pool2d", F(1, 1, 4, 4), 2, divisor_override=0),
        f("adaptive_avg_pool2d", F(3), 2),
        f("batch_norm", F(1, 3), None, None, training=True),
        f("batch_norm", F(2, 3), F(4), F(4)),
        f("batch_norm", F(2, 3), None, None),
        f("layer_norm", F(2, 3), (4,)),
        f("layer_norm", F(2, 3), (3,), F(4)),
        f("layer_norm", F(2, 3), 3),
        f("group_norm", F(2, 3, 4), 2),
        f("instance_norm", F(2, 3, 1)),
        f("local_response_norm", F(2, 3), 2),
        f("cross_entropy", F(2, 5), V([1, 5], "int64")),
        f("cross_entropy", F(2, 5), V([1, -2], "int64")),
        f("cross_entropy", F(2, 5), I(3)),
        f("cross_entropy", F(2, 5), V([1, 2], "int32")),
        f("cross_entropy", F(2, 5), V([1, 2], "int64"), F(4)),
        f("cross_entropy", F(2, 5), V([1, 2], "int64"), reduction="x"),
        f("cross_entropy", F(2, 5), V([1, 2], "int64"), label_smoothing=2.0),
        f("nll_loss", F(2, 3, 4), I(2, 3)),
        f("nll_loss", F(2, 5), V([1, 7], "int64")),
        f("mse_loss", I(3), I(3)),
        f("smooth_l1_loss", F(3), F(3), beta=-1.0),
        f("huber_loss", F(3), F(3), delta=0.0),
        f("binary_cross_entropy", F(3, low=2, high=3), F(3, **U)),
        f("binary_cross_entropy", F(2, 3, **U), F(3, **U)),
        f("binary_cross_entropy_with_logits", F(2, 3), F(3)),
        f("kl_div", F(3), F(3), reduction="foo"),
        f("multi_margin_loss", F(2, 5), V([1, 7], "int64")),
        f("triplet_margin_loss", F(2, 5), F(2, 5), F(5)),
        f("gaussian_nll_loss", F(3), F(3), V([-1.0, 1.0, 1.0])),
        f("gaussian_nll_loss", F(2, 3, 4), F(2, 3, 4), F(1, 1, 4, **U)),
        f("gaussian_nll_loss", F(2, 3), F(2, 3), F(3, **U)),
        f("margin_ranking_loss", F(2, 2), F(2, 2), F(2)),
        f("embedding", V([10], "int64"), F(10, 3)),
        f("embedding", V([-1], "int64"), F(10, 3)),
        f("embedding", V([1.0]), F(10, 3)),
        f("embedding", V([1], "int64"), F(10, 3), padding_idx=10),
        f("embedding", V([1], "int64"), F(10)),
        f("scaled_dot_product_attention", F(2, 3, 4), F(2, 3, 4), F(2, 3, 4, dtype="float64")),
        f("scaled_dot_product_attention", F(4), F(4), F(4)),
        f("scaled_dot_product_attention", F(2, 3, 4), F(2, 3, 4), F(2, 3, 4), I(3, 3)),
        f("pad", F(2, 3), (1,)),
        f("pad", F(1, 2, 3, 3), (3, 0, 0, 0), mode="reflect"),
        f("pad", F(1, 2, 3, 3), (1, 1), mode="reflect"),
        f("pad", F(3), (1, 1), mode="foo"),
        f("pad", F(3), (1, 1, 1, 1)),
        f("interpolate", F(1, 1, 3)),
        f("interpolate", F(1, 1, 3), size=2, mode="bilinear"),
        f("interpolate", F(1, 1, 3), size=2, align_corners=True),
        f("interpolate", F(1, 1, 3), size=(2, 2)),
        f("interpolate", F(3, 3), size=2),
        f("pixel_shuffle", F(3, 2, 2), 2),
        f("grid_sample", F(1, 1, 2, 2), F(1, 2, 2, 3), align_corners=False),
        case("lstm_cell", F(2, 5), [F(2, 3), F(2, 3)], *_weights(4, 2, 3)),
        case("gru_cell", F(2, 2), F(2, 4), *_weights(3, 2, 3)),
    ]
)
