"""torch.ops.quantized_decomposed against PyTorch's, which are Python functions too."""

import pytest
from oracle import compare, refused

import torchlike

torch = pytest.importorskip("torch")
pytest.importorskip("torch.ao.quantization.fx._decomposed")  # registers PyTorch's
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def x(t, *shape, dtype="float32"):
    n = 1
    for size in shape:
        n *= size
    return ((t.arange(n) * 13 % 37 / 18.5 - 0.9).reshape(shape) * 3).to(getattr(t, dtype))


def levels(t, *shape):
    n = 1
    for size in shape:
        n *= size
    return (t.arange(n) * 13 % 101 - 50).reshape(shape).to(t.int8)


def each(t, n, dtype="float32"):
    """A scale and a zero point for each of n."""
    return (t.arange(n) * 0.01 + 0.02).to(getattr(t, dtype)), t.arange(n) % 5 - 2


def op(t, name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(t.ops.quantized_decomposed, packet), overload or "default")


RANGE = (-128, 127)
#: Name of the operator -> its arguments, and the keyword ones.
CASES = {
    "quantize_per_tensor": lambda t: (x(t, 4, 5), 0.0213, 3, *RANGE, t.int8),
    "quantize_per_tensor of 16 bits": lambda t: (
        x(t, 4, 5, dtype="bfloat16"),
        0.0213,
        3,
        0,
        255,
        t.uint8,
    ),
    "quantize_per_tensor to 16 bits": lambda t: (x(t, 9), 0.001, -3, -32768, 32767, t.int16),
    "quantize_per_tensor.tensor": lambda t: (
        x(t, 4, 5),
        t.tensor([0.0213]),
        t.tensor([3]),
        *RANGE,
        t.int8,
    ),
    "quantize_per_tensor.tensor without dimensions": lambda t: (
        x(t),
        t.tensor([0.0213], dtype=t.float64),
        t.tensor([3]),
        *RANGE,
        t.int8,
    ),
    "quantize_per_tensor.tensor2": lambda t: (
        x(t, 4, 5),
        t.tensor(0.0213),
        t.tensor(3),
        t.tensor(-7),
        t.tensor(8),
        t.int8,
    ),
    "dequantize_per_tensor": lambda t: (levels(t, 4, 5), 0.0213, 3, *RANGE, t.int8),
    "dequantize_per_tensor to 16 bits": lambda t: (
        (levels(t, 4, 5), 0.0213, 3, *RANGE, t.int8),
        {"out_dtype": t.bfloat16},
    ),
    "dequantize_per_tensor.tensor": lambda t: (
        levels(t, 4, 5),
        t.tensor([0.0213], dtype=t.float64),
        t.tensor([3]),
        *RANGE,
        t.int8,
    ),
    "dequantize_per_tensor.tensor to 16 bits": lambda t: (
        (levels(t, 4, 5), t.tensor([0.0213]), t.tensor([3]), *RANGE, t.int8),
        {"out_dtype": t.bfloat16},
    ),
    "dequantize_per_tensor.tensor2": lambda t: (
        levels(t, 4, 5),
        t.tensor(0.5),
        t.tensor(3),
        t.tensor(-7),
        t.tensor(8),
        t.int8,
    ),
    "choose_qparams.tensor": lambda t: (x(t, 4, 5), *RANGE, 1e-5, t.int8),
    "choose_qparams.tensor of few numbers": lambda t: (t.zeros(3), *RANGE, 1e-5, t.int8),
    "choose_qparams.tensor above 0": lambda t: (x(t, 4, 5).abs() + 1, 0, 255, 1e-5, t.uint8),
    "choose_qparams_symmetric.tensor": lambda t: (x(t, 4, 5), *RANGE, 1e-5, t.int8),
    "choose_qparams_symmetric.tensor without sign": lambda t: (x(t, 4), 0, 255, 1e-5, t.uint8),
    "quantize_per_channel": lambda t: (x(t, 3, 4, 2), *each(t, 4), 1, *RANGE, t.int8),
    "quantize_per_channel from the end": lambda t: (
        x(t, 3, 4),
        *each(t, 4, "float64"),
        -1,
        *RANGE,
        t.int8,
    ),
    "dequantize_per_channel": lambda t: (levels(t, 3, 4, 2), *each(t, 4), 1, *RANGE, t.int8),
    "dequantize_per_channel without zero points": lambda t: (
        (levels(t, 3, 4), each(t, 3)[0], None, 0, *RANGE, t.int8),
        {"out_dtype": t.float16},
    ),
    "choose_qparams_per_token": lambda t: (x(t, 2, 3, 5), t.int8),
    "choose_qparams_per_token of 16 bits": lambda t: (x(t, 3, 5, dtype="float16"), t.int8),
    "choose_qparams_per_token_asymmetric": lambda t: (x(t, 2, 3, 5), t.int8),
    "_choose_qparams_per_token_asymmetric_impl": lambda t: (x(t, 3, 5).abs(), t.uint8),
    "quantize_per_token": lambda t: (
        x(t, 3, 5),
        *(v.unsqueeze(-1) for v in each(t, 3, "float64")),
        *RANGE,
        t.int8,
    ),
    "dequantize_per_token": lambda t: (
        levels(t, 3, 5),
        *(v.unsqueeze(-1) for v in each(t, 3, "float64")),
        *RANGE,
        t.int8,
        t.float32,
    ),
    "quantize_per_channel_group": lambda t: (
        x(t, 3, 8),
        *(v.reshape(3, 2) for v in each(t, 6)),
        -8,
        7,
        t.int8,
        4,
    ),
    "quantize_per_channel_group of whole rows": lambda t: (
        x(t, 3, 8),
        *(v.reshape(3, 1) for v in each(t, 3)),
        -8,
        7,
        t.int8,
        32,
    ),
    "dequantize_per_channel_group": lambda t: (
        levels(t, 3, 8),
        *(v.reshape(3, 2) for v in each(t, 6)),
        -8,
        7,
        t.int8,
        4,
        t.float32,
    ),
    "dequantize_per_channel_group without zero points": lambda t: (
        levels(t, 3, 8),
        each(t, 6)[0].reshape(3, 2),
        None,
        -8,
        7,
        t.int8,
        4,
        t.bfloat16,
    ),
    "fake_quant_per_channel": lambda t: (x(t, 3, 4), *each(t, 4), 1, -20, 20),
    "convert_element_type.no_fuse": lambda t: (x(t, 3), t.int8),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", CASES)
def test_as_pytorchs(case):
    name = case.partition(" ")[0]

    def run(t):
        args = CASES[case](t)
        args, kwargs = args if isinstance(args[-1], dict) else (args, {})
        return op(t, name)(*args, **kwargs)

    compare(run, exact=True)
    if name != "quantize_per_tensor.tensor2":  # its limits are tensors, of unknown values here
        compare(run, jitted=True)


def test_names_and_schemas():
    names = {case.partition(" ")[0] for case in CASES}

    def schemas(t):
        return {name: str(op(t, name)._schema) for name in names}

    assert schemas(torchlike) == schemas(torch)
    assert set(dir(torchlike.ao.quantization.fx._decomposed)) >= {
        "quantize_per_channel_group",
        "quantized_decomposed_lib",
        "_per_token_quant_qparam_dim_check",
    }


WRONG = {
    "dtype of the input": lambda t: op(t, "quantize_per_tensor")(
        x(t, 3).double(), 1.0, 0, *RANGE, t.int8
    ),
    "least level": lambda t: op(t, "quantize_per_tensor")(x(t, 3), 1.0, 0, -129, 127, t.int8),
    "greatest level": lambda t: op(t, "quantize_per_tensor")(x(t, 3), 1.0, 0, 0, 256, t.uint8),
    "dtype of levels": lambda t: op(t, "quantize_per_tensor")(x(t, 3), 1.0, 0, 0, 2, t.float32),
    "several scales": lambda t: op(t, "quantize_per_tensor.tensor")(
        x(t, 3), t.ones(2), t.zeros(1), *RANGE, t.int8
    ),
    "other levels": lambda t: op(t, "dequantize_per_tensor")(levels(t, 3), 1.0, 0, 0, 255, t.uint8),
    "axis": lambda t: op(t, "quantize_per_channel")(x(t, 3), *each(t, 3), 1, *RANGE, t.int8),
    "tokens": lambda t: op(t, "quantize_per_token")(x(t, 3, 5), *each(t, 5), *RANGE, t.int8),
    "levels without 0": lambda t: op(t, "choose_qparams.tensor")(x(t, 3), 1, 9, 1e-5, t.int8),
    "no levels": lambda t: op(t, "choose_qparams.tensor")(x(t, 3), 0, 0, 1e-5, t.int8),
    "group of one": lambda t: op(t, "quantize_per_channel_group")(
        x(t, 3, 8), *each(t, 24), -8, 7, t.int8, 1
    ),
    "groups left over": lambda t: op(t, "quantize_per_channel_group")(
        x(t, 3, 8), *each(t, 6), -8, 7, t.int8, 3
    ),
    "not a number": lambda t: op(t, "quantize_per_channel_group")(
        x(t, 3, 8) / 0 * 0, *each(t, 6), -8, 7, t.int8, 4
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_refusals(case):
    refused(WRONG[case])


def test_the_gradient_passes_within_the_levels():
    def run(t):
        given = x(t, 3, 4).requires_grad_()
        out = op(t, "fake_quant_per_channel")(given, *each(t, 4), 1, -20, 20)
        (out * x(t, 3, 4)).sum().backward()
        return out.detach(), given.grad

    compare(run, jitted=(False, True))


def test_on_the_meta_device():
    def run(t):
        meta = x(t, 3, 8).to("meta")
        scales, zeros = (v.to("meta") for v in each(t, 6))
        group = op(t, "quantize_per_channel_group")(meta, scales, zeros, -8, 7, t.int8, 4)
        chosen = op(t, "choose_qparams.tensor")(meta, *RANGE, 1e-5, t.int8)
        return [(v.shape, str(v.dtype), str(v.device)) for v in (group, *chosen)]

    compare(run)


@pytest.mark.filterwarnings("ignore:.*an autograd kernel was not registered:UserWarning")
def test_gradients_of_scales():
    def run(t):
        scales = each(t, 4)[0].requires_grad_()
        args = levels(t, 3, 4), scales, None, 1, *RANGE, t.int8
        op(t, "dequantize_per_channel")(*args).sum().backward()
        return scales.grad

    compare(run, jitted=(False, True))
