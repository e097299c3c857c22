"""What differs between PyTorch's releases, recorded of the one that is installed:

    python tests/golden/make_releases.py torch 2.14 > part.json

tests/golden/releases.json holds the parts by release. With "torchlike" for torch it prints what
torchlike gives, following the release that ``TORCHLIKE_TORCH_VERSION`` names.
"""

import importlib
import itertools
import json
import math
import sys
import typing
import warnings

NAN = math.nan
VALUES = (0.0, 1.0, 2.0, NAN)


def gradients(t, function, operands):
    """Return the values, and the gradients of all operands, as lists."""
    leaves = [t.tensor(o, dtype=t.float64, requires_grad=True) for o in operands]
    out = function(*leaves)
    out.sum().backward()
    return [out.tolist(), *(leaf.grad.tolist() for leaf in leaves)]


def softshrinks(t):
    """Return values and gradients of softshrink, of numbers of 16 and of 32 bits."""
    found = []
    for dtype, number in itertools.product((t.float16, t.bfloat16, t.float32), (3.3, 1 / 3, 0.1)):
        x = t.tensor([3.9, -4.5, 0.4, -0.25, NAN], dtype=dtype, requires_grad=True)
        y = t.nn.functional.softshrink(x, number)
        y.sum().backward()
        found.append([y.tolist(), x.grad.tolist()])
    return found


def kinds(t):
    """Return which errors refused arguments raise."""
    bools, halves = t.tensor([True, False]), t.ones(8, dtype=t.float16)
    numbers = t.ones(2, 2, dtype=t.complex64)
    calls = [
        *(lambda f=f: f(bools, bools) for f in (t.sub, t.rsub)),
        *(lambda f=f: f(bools) for f in (t.neg, t.positive, t.cov, t.corrcoef, t.trapezoid)),
        *(lambda f=f: f(bools) for f in (t.relu, t.nn.functional.hardtanh)),
        lambda: t.ones(2) - bools,
        lambda: bools - 1,
        *(lambda f=f: f(numbers) for f in (t.fft.rfft, t.fft.rfft2, t.fft.ihfft, t.fft.ihfftn)),
        *(lambda f=f: f(halves) for f in (t.fft.fft, t.fft.irfft, t.fft.rfft, t.fft.hfft)),
        *(lambda p=p: t.linalg.cond(t.eye(2), p) for p in (3, "abc")),
    ]
    return list(map(refusal, calls))


def checks(t):
    return [
        said(lambda f=f, m=m: f(False, m))
        for f in (t._check, t._check_index, t._check_value, t._check_type, t._check_not_implemented)
        for m in ("words", 3, lambda: "of a function")
    ]


def said(call):
    """Return the error that a call raises, and its words."""
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]


def strides_of_attention(t):
    q, k = t.ones(2, 5, 3, 4).transpose(1, 2), t.ones(2, 3, 5, 4)
    cases = [(q, k, k), (q, k[:, :1], k[:, :1]), (q[0], k[0], k[0]), (q[:, :, 1:], k[:1], k[:1])]
    return [list(t.nn.functional.scaled_dot_product_attention(*c).stride()) for c in cases]


def two_masks(t, dimensions):
    """Return what attention gives with a mask and is_causal, of the last row of three."""
    x = t.arange(6.0).reshape(*[1] * (dimensions - 2), 3, 2)
    mask = t.tensor([[True, False, True]] * 3)
    return t.nn.functional.scaled_dot_product_attention(x, x, x, mask, is_causal=True)[..., 0, :]


def traced_gradient(t, low, high):
    """Return the gradient of clamp that a graph computes."""

    def gradient(x):
        x = x.detach().requires_grad_()
        return t.autograd.grad(x.clamp(low, high).sum(), x)[0]

    x = t.tensor(VALUES)
    return part(t, "fx.experimental.proxy_tensor").make_fx(gradient)(x)(x).tolist()


def masks(t):
    flex = importlib.import_module(f"{t.__name__}.nn.attention.flex_attention")

    def causal(b, h, i, j):
        return i >= j

    sizes = [(300, 200), (256, 256), (1, 1000)]
    return [flex.create_block_mask(causal, 2, 3, *s, device="cpu").sparsity() for s in sizes]


def parts_of_masks(t):
    flex = importlib.import_module(f"{t.__name__}.nn.attention.flex_attention")
    mask = flex.create_block_mask(
        lambda b, h, i, j: i >= j, 2, 3, 300, 200, device="cpu", BLOCK_SIZE=64
    )
    rows = (slice(None), 0, -1, slice(3, None), slice(0, 9, 2), t.tensor([4, 0]), slice(2, 2))
    found = [list(mask[:, :, r].shape) for r in rows]
    return [*found, list(mask[0, 1].shape), said(lambda: mask[0, 0, 0, 0])]


def other_lengths(t):
    flex = importlib.import_module(f"{t.__name__}.nn.attention.flex_attention")
    q, found = t.ones(1, 1, 128, 16), []
    for n in (64, 256):
        mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device="cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(said(lambda mask=mask: flex.flex_attention(q, q, q, block_mask=mask)))
    return found


def part(t, path):
    return importlib.import_module(f"{t.__name__}.{path}")


def nodes_of_detached(t, **how):
    graph = part(t, "fx.experimental.proxy_tensor").make_fx(lambda x: x.detach() * 2, **how)
    return [node.name for node in graph(t.ones(1)).graph.nodes]


def annotated(x, n: int | None = None, names: list[str] | None = None):
    return x


def fused(t):
    """Return what modules take that are made of nodes, in order."""
    graph = t.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    first = graph.call_function(t.sub, (y, x))
    second = graph.call_function(t.add, (first, y))
    graph.output(second)
    module, make = t.fx.GraphModule(t.nn.Module(), graph), part(t, "fx.passes.utils.fuser_utils")
    groups = ([first, second], [first], [second])
    return [[n.name for n in make.fuse_as_graphmodule(module, g, "fused")[1]] for g in groups]


def folded(t):
    """Return the nodes that are left where the caller does not fold a product in a child."""
    graph = t.fx.Graph()
    graph.output(graph.call_function(t.mul, (graph.placeholder("x"), 2)))
    root = t.nn.Module()
    root.w, root.child = t.nn.Parameter(t.ones(1)), t.fx.GraphModule(t.nn.Module(), graph)
    graph = t.fx.Graph()
    x = graph.placeholder("x")
    inside = graph.call_module("child", (graph.get_attr("w"),))
    graph.output(graph.call_function(t.add, (x, inside)))
    split = part(t, "fx.experimental.const_fold").split_const_subgraphs(
        t.fx.GraphModule(root, graph), lambda node: node.target is t.mul
    )
    return [node.op for node in split.graph.nodes]


class Pair(typing.NamedTuple):
    a: int
    b: int


def pair_spec(t):
    return part(t, "utils._pytree").tree_structure(Pair(1, 2))


def columns(n):
    return [list(c) for c in zip(*itertools.product(VALUES, repeat=n), strict=True)]


def refusal(call):
    """Return what a call gives, or which error it raises."""
    try:
        return call().tolist()
    except Exception as error:
        return type(error).__name__


def probes(t):
    """Return name of a change -> what shows it."""
    numbers = [(0, 1), (1, 1), (2, 1), (NAN, 1), (1, NAN), (0, None), (None, 1), (None, NAN)]
    lengths = [(0, 5, 1.5), (0, 1, 0.3), (1, 0, -0.3), (0.9, 5, 1), (-2.5, 2.5, 0.7), (0, 3.9)]
    return {
        "clamp shares ties": {
            "both": gradients(t, t.clamp, columns(3)),
            "min": gradients(t, lambda x, low: t.clamp(x, min=low), columns(2)),
            "max": gradients(t, lambda x, high: t.clamp(x, max=high), columns(2)),
            "clamp_min": gradients(t, t.clamp_min, columns(2)),
            "numbers": [gradients(t, lambda x, b=b: t.clamp(x, *b), [VALUES]) for b in numbers],
            "traced": [traced_gradient(t, *b) for b in numbers],
            "spread": gradients(t, lambda x, a: t.clamp(x, a, a + 1), [[[1.0], [2.0]], [1.0, 2.0]]),
        },
        "fmax shares ties": {
            "fmax": gradients(t, t.fmax, columns(2)),
            "fmin": gradients(t, t.fmin, columns(2)),
        },
        "arange counts before it truncates": [
            refusal(lambda b=b, d=d: t.arange(*b, dtype=getattr(t, d)))
            for b in lengths
            for d in ("int64", "int32", "float32")
        ],
        "refusals have kinds": kinds(t),
        "softshrink rounds its number": softshrinks(t),
        "checks take words": checks(t),
        "attention lies as its query": strides_of_attention(t),
        "attention refuses two masks": [refusal(lambda d=d: two_masks(t, d)) for d in (3, 4)],
        "sparsity counts blocks": masks(t),
        "parts of block masks are as long as their rows": parts_of_masks(t),
        "block masks of other lengths": other_lengths(t),
        "LBFGS maximizes": sorted(t.optim.LBFGS([t.ones(1)]).state_dict()["param_groups"][0]),
        "traced detach is an alias": [
            nodes_of_detached(t, **how)
            for how in ({}, {"tracing_mode": "fake"}, {"pre_dispatch": True})
        ],
        "fused modules take placeholders in order": fused(t),
        "folding asks of nested nodes": folded(t),
        "unions are typing's": part(t, "fx").symbolic_trace(annotated).code,
        "pytree spells": said(lambda: part(t, "utils._pytree").treespec_dumps(pair_spec(t))),
        "cholesky and qr are gone": [
            refusal(lambda f=f: f(t.eye(2)))
            for f in (t.cholesky, t.Tensor.cholesky, lambda x: t.qr(x)[1], lambda x: x.qr()[1])
        ],
    }


if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1])
    json.dump(probes(library), sys.stdout)
