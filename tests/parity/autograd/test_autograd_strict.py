"""Strict mode refuses backward where PyTorch does, in its words."""

import pytest

import torchlike
from torchlike.autograd import set_strict_in_place

torch = pytest.importorskip("torch")


def start(lib, values=(0.3, 0.6)):
    return lib.tensor(list(values), dtype=lib.float32, requires_grad=True) * 1


#: What is done with y (and another tensor, w) to get what backward starts from.
UNARY = [
    "exp",
    "sin",
    "relu",
    "sigmoid",
    "tanh",
    "sqrt",
    "log",
    "neg",
    "abs",
    "reciprocal",
    "square",
    "cumsum(0)",
    "sum()",
    "mean()",
    "norm()",
    "softmax(0)",
    "log_softmax(0)",
    "clamp(0, 1)",
    "clone()",
    "view(2, 1)",
    "var()",
    "max()",
    "sort()[0]",
    "pow(3)",
    "pow(1)",
    "add(3)",
    "mul(3)",
    "div(3)",
    "rsqrt",
    "cosh",
    "asin",
    "log1p",
    "expm1",
    "erf",
    "std()",
    "prod()",
    "logsumexp(0)",
    "amax()",
    "flip(0)",
    "repeat(2)",
    "t()",
    "masked_fill(mask, 0)",
]
BINARY = [
    "mul",
    "add",
    "sub",
    "div",
    "matmul",
    "dot",
    "maximum",
    "minimum",
    "atan2",
    "pow",
    "copysign",
    "hypot",
    "outer",
    "logaddexp",
]


def bodies():
    for op in UNARY:
        call = f"y.{op}" if op.endswith((")", "]")) else f"y.{op}()"
        yield f"z = {call}; y.add_(1)"
    for op in BINARY:
        yield f"z = y.{op}(w); y.add_(1)"
        yield f"z = y.{op}(w); w.add_(1)"
        yield f"z = y.{op}(v); v.add_(1)"
    for op in ("exp", "sigmoid", "tanh", "relu", "sqrt"):
        yield f"z = y.{op}(); z.add_(1)"
        yield f"z = y; z.{op}_()"
        yield f"z = y; z.{op}_(); z.mul_(2)"
    yield from (
        "z = y; z.mul_(w)",
        "z = y; z.mul_(z)",
        "z = y; z.mul_(w); w.add_(1)",
        "z = y; z.div_(w)",
        "z = y * y; y[0] = 3",
        "z = y * y; y[:1].mul_(2)",
        "z = y * y; y.detach().add_(1)",
        "z = y * y; y.zero_()",
        "z = y * y; y.copy_(w)",
        "u = y[0]; z = u * u; y.add_(1)",
        "u = y.view(2, 1); z = u.exp(); u.add_(1)",
        "z = y * w; y += 1; w += 1",
        "z = F.linear(m, k); m.add_(1)",
        "z = F.linear(m, k); k.add_(1)",
        "z = y[idx]; y.add_(1)",
        "z = y[idx]; idx.add_(0)",
        "z = torch.where(mask, y, w); y.add_(1)",
        "z = torch.where(mask, y, w); mask.logical_not_()",
        "z = torch.cat([y, w]); y.add_(1)",
        "z = F.mse_loss(y, w); w.add_(1)",
        "z = F.gelu(y); y.add_(1)",
    )


#: Where torchlike's node keeps something else than PyTorch's: (PyTorch raises, torchlike raises).
DIFFERENT = dict.fromkeys(
    (
        "z = y.sort()[0]; y.add_(1)",
        "z = y.copysign(w); w.add_(1)",
        "z = y.copysign(v); v.add_(1)",
        "z = y.hypot(v); v.add_(1)",
        "z = y[idx]; y.add_(1)",
    ),
    (False, True),
)


def raises(lib, body):
    names = {
        "torch": lib,
        "F": lib.nn.functional,
        "y": start(lib),
        "w": start(lib, (0.7, 0.2)),
        "v": lib.tensor([0.5, 0.4]),
        "m": start(lib, (0.1, 0.2)).reshape(1, 2).clone(),
        "k": start(lib, (0.1, 0.2)).reshape(1, 2).clone(),
        "idx": lib.tensor([0, 1, 1]),
        "mask": lib.tensor([True, False]),
    }
    exec(body, names)
    try:
        names["z"].sum().backward()
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("body", list(bodies()))
def test_refused_where_pytorch_refuses(body):
    expected = raises(torch, body)
    with set_strict_in_place(True):
        found = raises(torchlike, body)
    assert raises(torchlike, body) == ""
    if body in DIFFERENT:
        assert (bool(expected), bool(found)) == DIFFERENT[body]
        return
    assert bool(found) == bool(expected), (expected, found)
    assert found[:80] == expected[:80]
