"""Numbers that a dtype cannot hold, in every function that takes one: an error, or PyTorch's value.

Each is a line of Python with the number as ``N``, the dtype as ``D``; ``x`` and ``y`` are vectors.
"""

from __future__ import annotations

from typing import Any

import pytest

import torchlike

torch = pytest.importorskip("torch")

FUNCTIONS = [
    "F.leaky_relu(x, N)",
    "F.elu(x, N)",
    "F.elu_(x, N)",
    "F.celu(x, N)",
    "F.threshold(x, N, 1)",
    "F.threshold(x, 1, N)",
    "F.softplus(x, N)",
    "F.softplus(x, 1, N)",
    "F.hardtanh(x, -1, N)",
    "F.hardshrink(x, N)",
    "F.softshrink(x, N)",
    "F.rrelu(x, 0.1, N)",
    "F.pad(x, (1, 1), value=N)",
    "F.cosine_similarity(m, m, eps=N)",
    "F.multi_margin_loss(m, i, margin=N)",
    "x.lerp(y, N)",
    "x.lerp_(y, N)",
    "x.logit(N)",
    "t.linspace(N, 1, 3, dtype=D)",
    "t.linspace(0, N, 3, dtype=D)",
    "t.logspace(0, N, 3, dtype=D)",
    "t.linspace(t.tensor(N), 2, 4, dtype=D)",
    "t.logspace(t.tensor(N), 2, 4, dtype=D)",
    "t.logspace(0, t.tensor(N), 4, dtype=D)",
    "t.logspace(N, 2, 4, dtype=D)",
    "t.full((3,), N, dtype=D)",
    "t.full_like(x, N)",
    "x.fill_(N)",
    "t.tensor(N, dtype=D)",
    "t.tensor([N], dtype=D)",
    "x.clamp(min=N)",
    "x.clamp(max=N)",
    "x.clamp_(min=N)",
    "t.addcmul(x, y, y, value=N)",
    "t.addcdiv(x, y, y, value=N)",
    "t.addmm(m, m, m, beta=N)",
    "t.addmm(m, m, m, alpha=N)",
    "t.addmv(x, m, x, beta=N)",
    "t.addr(m, x, x, alpha=N)",
    "t.baddbmm(m[None], m[None], m[None], beta=N)",
    "t.add(x, y, alpha=N)",
    "t.sub(x, y, alpha=N)",
    "x.masked_fill(k, N)",
    "x.index_fill(0, i, N)",
    "x.scatter(0, i, N)",
    "m.fill_diagonal_(N)",
    "x.index_add(0, i, y, alpha=N)",
    "t.histc(x, 3, 0, N)",
    "t.where(k, x, N)",
    "t.where(k, N, N)",
    "x + N",
    "x * N",
    "x ** N",
    "x.pow_(N)",
    "x == N",
    "x.add_(N)",
    "t._foreach_lerp([x], [y], N)",
    "t.nn.init.constant_(x, N)",
    "t.bucketize(N, x)",
    "t.searchsorted(x, N)",
    "x.__setitem__(0, N)",
    "F.cross_entropy(m, i, label_smoothing=N)",
    "t.trapezoid(x, dx=N)",
    "t.cumulative_trapezoid(x, dx=N)",
    "F.local_response_norm(m[None], 1, 1.0, N)",
    "F.huber_loss(x, y, delta=N)",
    "F.smooth_l1_loss(x, y, beta=N)",
]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"]
NUMBERS = [
    1e300,
    1e39,
    -1e39,
    70000.0,
    300,
    -1,
    float("nan"),
    float("inf"),
    2**40,
    0.5,
    3,
    -200,
]


def _result(t: Any, text: str, dtype: str, number: Any) -> Any:
    """The values, or "raises" and whether it is for the number's size, or that there is none."""
    kind = getattr(t, dtype)
    x = t.tensor([1, 2, 3]).to(kind)
    names = {
        "t": t,
        "F": t.nn.functional,
        "D": kind,
        "N": number,
        "x": x,
        "y": x.clone(),
        "m": t.stack([x, x, x]),
        "i": t.tensor([0, 1, 2]),
        "k": t.tensor([True, False, True]),
    }
    try:
        made = eval(text, names)
    except NotImplementedError:
        return "none", None
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        return "raises", "without overflow" in str(error)
    made = x if "__setitem__" in text else made[0] if isinstance(made, (tuple, list)) else made
    return "gives", made.to(t.float64).flatten().tolist(), str(made.dtype).split(".")[-1]


def _agree(mine: Any, theirs: Any) -> bool:
    if theirs[0] == "none":  # nothing to be compared with: halves, integers
        return True
    if mine[0] != theirs[0] or theirs[0] == "raises":
        return mine[0] == theirs[0] and (mine[1] or not theirs[1])
    return mine[2] == theirs[2] and mine[1] == pytest.approx(
        theirs[1], rel=1e-2 if "16" in theirs[2] else 1e-4, nan_ok=True
    )


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_number(text: str, dtype: str) -> None:
    for number in NUMBERS:
        theirs = _result(torch, text, dtype, number)
        mine = _result(torchlike, text, dtype, number)
        assert _agree(mine, theirs), (number, mine, theirs)


@pytest.mark.parametrize("text", ["F.leaky_relu(x, N)", "F.hardtanh(x, -1, N)", "x.lerp(y, N)"])
def test_compiled(text: str) -> None:
    """The check is made as the program is, before there are values."""
    names = {"t": torchlike, "F": torchlike.nn.functional, "N": 1e39, "y": torchlike.ones(3)}
    compiled = torchlike.jit(lambda x: eval(text, {**names, "x": x}))
    with pytest.raises(RuntimeError, match="type float without overflow"):
        compiled(torchlike.ones(3))
    names["N"] = 0.5
    assert compiled(torchlike.ones(3)).tolist() == [1.0, 1.0, 1.0] or "hardtanh" in text
