"""gradcheck and gradgradcheck of every differentiable op of the registry, in float64.

Inputs come from the entry of PyTorch's ``op_db`` that the op is named after, else from
``gradcheck_cases``; an op that has neither fails. The plain run takes every eighteenth op;
``-m full`` takes all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's tables need it

import gradcheck_cases as cases  # noqa: E402
from op_db.columns import Entry, entries  # noqa: E402
from op_db.convert import Converter, NotConvertible  # noqa: E402
from op_db.translate import callable_of  # noqa: E402

import torchlike  # noqa: E402
from torchlike._core.dispatch.registry import OPS  # noqa: E402
from torchlike.autograd import gradcheck, gradgradcheck  # noqa: E402

ENTRIES = {e.name: e for e in entries()}
NAMES = sorted(name for name, spec in OPS.items() if spec.differentiable)
#: Of an op's samples the smallest is taken that has at least two numbers.
MOST = 64


def entry_of(name: str) -> Entry | None:
    """The entry of op_db for an op."""
    if name in cases.ENTRY:
        return ENTRIES[cases.ENTRY[name]]
    for base in (name, name.removesuffix("_op")):
        for space in ("", "nn.functional.", "linalg.", "special.", "fft."):
            if space + base in ENTRIES:
                return ENTRIES[space + base]
    return None


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torchlike.Tensor)


def of_sample(entry: Entry) -> tuple[Callable[..., Any], list[Any]]:
    """The entry's function of the smallest sample's differentiable tensors, and those tensors."""
    function = entry.function()
    best: Any = None
    dtype = entry.wide()[0]
    for number, sample in enumerate(entry.samples(dtype, None, requires_grad=True)):
        if number >= MOST:
            break
        convert = Converter(callable_of)
        try:
            given = convert(sample.input), convert(sample.args), convert(sample.kwargs)
        except NotConvertible:
            continue
        leaves = [
            t
            for t in jax.tree_util.tree_leaves(given, is_leaf=_is_tensor)
            if _is_tensor(t) and t.requires_grad
        ]
        unique = list({id(t): t for t in leaves}.values())
        size = sum(t.numel() for t in unique)
        if unique and size > 1 and (best is None or size < best[0]):
            torchlike.manual_seed(7)
            try:
                out = function(given[0], *given[1], **given[2])
            except (RuntimeError, NotImplementedError, ValueError):
                continue  # a sample that PyTorch, too, refuses; values are compared elsewhere
            first = out[0] if isinstance(out, (tuple, list)) else out
            if getattr(first, "requires_grad", False):
                best = size, given, unique
    assert best is not None, f"{entry.name}: no sample with gradients"
    _, given, unique = best
    places, tree = jax.tree_util.tree_flatten(given, is_leaf=_is_tensor)

    def run(*tensors: Any) -> Any:
        now = {id(old): new for old, new in zip(unique, tensors, strict=True)}
        torchlike.manual_seed(7)
        input, args, kwargs = jax.tree_util.tree_unflatten(
            tree, [now.get(id(x), x) for x in places]
        )
        return function(input, *args, **kwargs)

    return run, unique


def of_code(name: str) -> tuple[Callable[..., Any], list[Any]]:
    function, *shapes = cases.CODE[name]

    def run(*tensors: Any) -> Any:
        torchlike.manual_seed(7)
        return function(*tensors)

    return run, cases.inputs_of(shapes)


def check(name: str) -> None:
    if name in cases.CODE:
        run, inputs = of_code(name)
    else:
        entry = entry_of(name)
        assert entry is not None, (
            f"op {name}: name the entry of op_db that runs it in gradcheck_cases.ENTRY, or write "
            "it into gradcheck_cases.CODE"
        )
        run, inputs = of_sample(entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Finite differences know no more digits.
        gradcheck(run, inputs, atol=1e-5, rtol=1e-3)
        # Nor do those of gradients.
        gradgradcheck(run, inputs, atol=1e-4, rtol=1e-3)
    assert any(_mask(key) for key in OPS[name].cache), f"{name} did not run: its inputs are wrong"


def _mask(key: Any) -> int:
    """Which operands wanted a gradient, from the key of a compiled form."""
    return key[1] if key[0] == "in place" else key[0]


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in cases.NOT_ALONE][::18])
def test_sample_of_ops(name: str) -> None:
    check(name)


@pytest.mark.full
@pytest.mark.parametrize("name", [n for n in NAMES if n not in cases.NOT_ALONE])
def test_every_op(name: str) -> None:
    check(name)


def test_every_op_has_inputs() -> None:
    """A new op is checked by itself, or says here where its inputs come from."""
    missing = [
        n for n in NAMES if n not in cases.CODE and n not in cases.NOT_ALONE and entry_of(n) is None
    ]
    assert not missing
    for table in (cases.CODE, cases.ENTRY, cases.NOT_ALONE):
        assert not set(table) - set(NAMES)
