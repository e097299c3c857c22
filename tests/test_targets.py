"""For which platform a program is traced: workarounds, caches, the precision of products."""

import ast
from pathlib import Path

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime import targets

ROOT = Path(torch.__file__).parent
#: Files that ask what this process runs on: what devices there are, what a report says.
OF_THE_PROCESS = {
    "__config__.py",
    "_runtime/targets.py",
    "_runtime/first_calls/program.py",
    "_runtime/compilation_cache.py",
    "accelerator.py",
    "porting/doctor/facts.py",
    "porting/record_torchlike.py",
    "utils/collect_env.py",
}
ACCELERATORS = ("tpu", "cuda")


def stablehlo(fn, *shapes, platform, dtype=np.float32):
    """StableHLO of an op as its executable is traced for ``platform``."""
    avals = [jax.ShapeDtypeStruct(s, dtype) for s in shapes]

    def arrays(*given):
        return fn(*map(torch.from_jax, given))._read()

    with targets.platform(platform):
        return jax.jit(arrays).trace(*avals).lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.exhaustive
def test_no_lowering_asks_for_the_process():
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name in OF_THE_PROCESS:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "default_backend"
                and (isinstance(node.value, ast.Name) and node.value.id == "jax")
            ):
                found.append(f"{name}:{node.lineno}")
    assert found == [], "ask torchlike._runtime.targets for which platform a program is"


def test_unknown_platforms_are_refused():
    with pytest.raises(ValueError, match=r"unknown platform 'npu': one of 'cpu', 'tpu'"):
        targets.platform("npu")


def test_regions_nest_and_end():
    here = jax.default_backend()
    with targets.platform("cuda"):
        assert targets.name() == "gpu"
        with targets.platform("tpu"):
            assert targets.name() == "tpu"
        assert not targets.is_cpu()
        with targets.numpy():
            assert not targets.is_xla_cpu()
    assert targets.name() == here


#: What XLA's CPU backend needs or likes, and nothing else: by what its text shows.
WORKAROUNDS = {
    "depthwise convolution": (
        lambda x, w: torch.conv2d(x, w, groups=4),
        [(2, 4, 8, 8), (4, 1, 3, 3)],
    ),
    "channels last": (lambda x, w: torch.conv2d(x, w, padding=1), [(2, 4, 9, 9), (8, 4, 3, 3)]),
    "float64 log gamma": (torch.lgamma, [(40,)]),
    "flat products": (torch.matmul, [(2, 3, 4), (4, 5)]),
    "flat linear layers": (torch.nn.functional.linear, [(2, 3, 4), (5, 4)]),
    "sine in float64": (torch.sin, [(1 << 16,)]),
    "maximum along rows": (lambda x: x.argmax(0), [(300, 200)]),
    "blocks of causal attention": (
        lambda q: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True),
        [(1, 2, 512, 16)],
    ),
}


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [
        (torch.matmul, [(2, 3, 4), (4, 5)]),
        (torch.nn.functional.linear, [(2, 3, 4), (5, 4)]),
    ],
)
def test_products_with_matrices_keep_their_dimensions(fn, shapes):
    """A reshape between a product and what is added to it keeps a TPU from fusing the two."""

    def gradients(*operands):
        for x in operands:
            x.requires_grad_()
        fn(*operands).square().sum().backward()
        return operands[1].grad

    for platform in ACCELERATORS:
        assert "stablehlo.reshape" not in stablehlo(gradients, *shapes, platform=platform)


@pytest.mark.parametrize("name", WORKAROUNDS)
def test_workarounds_are_for_the_cpu_alone(name):
    fn, shapes = WORKAROUNDS[name]
    on_cpu = stablehlo(fn, *shapes, platform="cpu")
    for platform in ACCELERATORS:
        text = stablehlo(fn, *shapes, platform=platform)
        assert text != on_cpu
        assert "optimization_barrier" not in text
        assert "f64" not in text
        assert "case" not in text
    # A cache that did not know of targets would give the accelerator's program now.
    assert stablehlo(fn, *shapes, platform="cpu") == on_cpu


def test_a_program_for_several_platforms_has_none():
    module = torch.nn.Conv2d(4, 4, 3, groups=4)
    program = torch.export.to_jax(module, (torch.ones(1, 4, 8, 8),))
    text = str(program.exported.mlir_module())
    grouped = text.count("feature_group_count = 4")
    assert grouped >= 1
    assert grouped == text.count("stablehlo.convolution(")  # JAX may write one for each platform


def product(x, w):
    return x @ w


def convolution(x, w):
    return torch.conv2d(x, w)


SHAPES = {product: [(8, 8), (8, 8)], convolution: [(1, 4, 8, 8), (4, 4, 3, 3)]}


@pytest.fixture
def precisions():
    """Whatever a test tells, other tests find what was before."""
    before = targets.float32.key()
    yield
    targets.float32.set(products=before[0], convolutions=before[1])


@pytest.mark.usefixtures("precisions")
@pytest.mark.parametrize("platform", ACCELERATORS)
def test_products_say_how_many_bits_they_keep(platform):
    assert "HIGHEST" in stablehlo(product, *SHAPES[product], platform=platform)
    torch.set_float32_matmul_precision("high")
    assert "HIGH," in stablehlo(product, *SHAPES[product], platform=platform)
    torch.set_float32_matmul_precision("medium")
    assert "HIGH" not in stablehlo(product, *SHAPES[product], platform=platform)
    torch.backends.cuda.matmul.allow_tf32 = False
    assert "HIGHEST" in stablehlo(product, *SHAPES[product], platform=platform)
    assert "HIGH" not in stablehlo(product, *SHAPES[product], platform="cpu")


@pytest.mark.usefixtures("precisions")
def test_convolutions_follow_cudnn():
    text = stablehlo(convolution, *SHAPES[convolution], platform="cuda")
    assert "HIGH" in text
    assert "HIGHEST" not in text  # PyTorch allows cuDNN TF32 by default
    with torch.backends.cudnn.flags(allow_tf32=False):
        assert "HIGHEST" in stablehlo(convolution, *SHAPES[convolution], platform="cuda")
        assert torch.backends.cudnn.conv.fp32_precision == "ieee"
    assert "HIGHEST" not in stablehlo(convolution, *SHAPES[convolution], platform="cuda")


@pytest.mark.parametrize("fn", [product, convolution], ids=lambda f: f.__name__)
def test_gradients_keep_as_many(fn):
    def gradient(x, w):
        x.requires_grad_()
        fn(x, w).sum().backward()
        return x.grad

    text = stablehlo(gradient, *SHAPES[fn], platform="tpu")
    assert text.count("HIGH") >= 2


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", ["gelu", "silu", "softplus", "mish"])
def test_16_bits_are_kept_as_16_bits_for_backward(name):
    """A function computed in float32 keeps its operand, and computes again."""
    x = jax.numpy.linspace(-4, 4, 64, dtype="bfloat16")

    def kept_and_gradient(platform):
        def arrays(x):
            return getattr(torch.nn.functional, name)(torch.from_jax(x))._read()

        def both(x):
            _, pull = jax.vjp(arrays, x)
            (gradient,) = pull(x)
            kept.append([leaf.dtype.name for leaf in jax.tree.leaves(pull)])
            return gradient

        kept = []
        with targets.platform(platform):
            gradient = jax.jit(both)(x)
        return kept[0], np.asarray(gradient, np.float32)

    wide, expected = kept_and_gradient("cpu")
    assert "float32" in wide
    for platform in ACCELERATORS:
        found, gradient = kept_and_gradient(platform)
        assert found == ["bfloat16"]
        np.testing.assert_array_equal(gradient, expected)
