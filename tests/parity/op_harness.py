"""One op on the same arguments in PyTorch and torchlike, held against each other.

A case is a name, sample arguments and keywords. Arguments are recipes (``F(2, 3)``: floats of that
shape) from which both frameworks get the same values with the same strides. ``compare`` checks
values, dtype, shape, strides, gradient, second gradient, method, in-place twin and ``out=``.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import oracle
import torch
from oracle import as_numpy

import torchlike
import torchlike.fft
import torchlike.linalg
import torchlike.special
from torchlike._core.dispatch.registry import NAMESPACES


@dataclass
class Recipe:
    """A tensor argument: made afresh for each framework from a seeded generator."""

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    values: Any = None
    transposed: bool = False
    grad: bool = True
    special: str = ""

    def numpy(self, rng: np.random.Generator) -> np.ndarray:
        if self.values is not None:
            return np.array(self.values, dtype=self.dtype)
        kind = np.dtype(self.dtype).kind
        if kind == "b":
            return rng.random(self.shape) < 0.5
        if kind in "iu":
            return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)
        found = rng.uniform(self.low, self.high, self.shape)
        if kind == "c":
            found = found + 1j * rng.uniform(self.low, self.high, self.shape)
        if self.special == "pd":
            found = found @ np.conj(np.swapaxes(found, -1, -2)) + 2 * np.eye(self.shape[-1])
        return found.astype(self.dtype)

    def t(self) -> Recipe:
        """The same with its last two dimensions swapped in memory."""
        self.transposed = True
        return self


def F(
    *shape: int, low: float = -2, high: float = 2, dtype: str = "float32", **facts: Any
) -> Recipe:
    return Recipe(shape, dtype, low, high, **facts)


def Z(*shape: int, **facts: Any) -> Recipe:
    return Recipe(shape, "complex64", -2, 2, **facts)


def I(*shape: int, low: int = -5, high: int = 6, dtype: str = "int64") -> Recipe:  # noqa: E743
    return Recipe(shape, dtype, low, high)


def B(*shape: int) -> Recipe:
    return Recipe(shape, "bool", 0, 1)


def V(values: Any, dtype: str = "float32", grad: bool = True) -> Recipe:
    """Given values."""
    return Recipe((), dtype, 0, 0, values=values, grad=grad)


def PD(*shape: int, dtype: str = "float32") -> Recipe:
    """Positive-definite matrices."""
    return Recipe(shape, dtype, -1, 1, special="pd")


@dataclass
class Case:
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    #: What is not compared: "strides", "grad", "second", "inplace", "out", "method".
    skip: tuple[str, ...] = ()
    rtol: float = 0.0
    why: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.name}-{self.number}"


def case(
    name: str, *args: Any, skip: str = "", rtol: float = 0.0, why: str = "", **kwargs: Any
) -> Case:
    return Case(name, args, kwargs, tuple(skip.split()), rtol, why)


def numbered(cases: list[Case]) -> list[Case]:
    """Cases with a number among those of one name, for stable test ids."""
    seen: dict[str, int] = {}
    for c in cases:
        c.number = seen[c.name] = seen.get(c.name, -1) + 1
    return cases


# -- running ---------------------------------------------------------------------------------------


@dataclass
class Side:
    """One framework's arguments for a case."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: list[Any] = field(default_factory=list)


def make(case_: Case, module: Any, requires_grad: bool) -> Side:
    rng = np.random.default_rng(zlib.crc32(str(case_).encode()))
    inputs: list[Any] = []

    def build(value: Any) -> Any:
        if isinstance(value, Recipe):
            array = value.numpy(rng)
            if value.transposed:
                stored = np.ascontiguousarray(np.swapaxes(array, -1, -2))
                t = module.tensor(stored)
                leaf = t
                if requires_grad and value.grad and array.dtype.kind in "fc":
                    leaf = t.requires_grad_()
                    inputs.append(leaf)
                return leaf.transpose(-1, -2)
            t = module.tensor(array)
            if requires_grad and value.grad and array.dtype.kind in "fc":
                t.requires_grad_()
                inputs.append(t)
            return t
        if isinstance(value, (list, tuple)):
            return type(value)(build(v) for v in value)
        if isinstance(value, str) and value.startswith("dtype:"):
            return getattr(module, value[6:])
        return value

    args = tuple(build(a) for a in case_.args)
    kwargs = {k: build(v) for k, v in case_.kwargs.items()}
    return Side(module, args, kwargs, inputs)


def resolve(module: Any, name: str) -> Any:
    if module is torchlike and name.startswith("nn.functional."):
        return NAMESPACES["nn.functional"][name.rsplit(".", 1)[1]]
    if name.startswith("Tensor."):
        method = name[7:]
        return lambda self, *args, **kwargs: getattr(self, method)(*args, **kwargs)
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def tensors_in(result: Any) -> list[Any]:
    if isinstance(result, (torch.Tensor, torchlike.Tensor)):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors_in(r)]
    return []


def same(ours: Any, theirs: Any, what: str, rtol: float, *, strides: bool = False) -> None:
    """Values, dtype, shape and (if asked) strides agree."""
    assert str(ours.dtype) == str(theirs.dtype), f"{what}: dtype {ours.dtype} != {theirs.dtype}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: {ours.shape} != {theirs.shape}"
    if strides:
        assert ours.stride() == theirs.stride(), (
            f"{what}: stride {ours.stride()} != {theirs.stride()}"
        )
    kind = str(theirs.dtype).removeprefix("torch.")
    a, b = as_numpy(ours), as_numpy(theirs)
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    usual = oracle.TOLERANCES.get(kind, oracle.EQUAL)
    wider = {"rtol": max(rtol, usual.rtol), "atol": max(rtol, usual.atol) * scale}
    oracle.close(a, b, kind, what, **wider)


def same_results(ours: Any, theirs: Any, case_: Case, what: str) -> None:
    if isinstance(theirs, (bool, int, float)) or theirs is None or "dtype" in type(theirs).__name__:
        assert str(ours) == str(theirs), f"{what}: {ours!r} != {theirs!r}"
        return
    if isinstance(theirs, tuple) and not isinstance(theirs, torch.Tensor):
        assert len(ours) == len(theirs)
        if hasattr(theirs, "_fields") or "return_types" in str(type(theirs)):
            assert type(ours).__name__ == type(theirs).__name__.split(".")[-1], type(ours)
    mine, others = tensors_in(ours), tensors_in(theirs)
    assert len(mine) == len(others), f"{what}: {len(mine)} tensors, not {len(others)}"
    for i, (a, b) in enumerate(zip(mine, others, strict=True)):
        same(a, b, f"{what}[{i}]", case_.rtol, strides="strides" not in case_.skip)


def cotangents(values: Any, module: Any) -> tuple[list[Any], list[Any]]:
    """The values that need gradients, and a cotangent for each, the same for both frameworks.

    A loss made of them would only add ops to compile.
    """
    outputs, weights = [], []
    for i, t in enumerate(values):
        if t is None or not t.requires_grad:
            continue
        w = np.cos(np.arange(t.numel()) * 1.3 + i)
        if t.is_complex():
            w = w + 1j * np.sin(np.arange(t.numel()) * 0.7)
        outputs.append(t)
        weights.append(module.tensor(w.reshape(tuple(t.shape)), dtype=t.dtype))
    return outputs, weights


def gradients(side: Side, function: Any, second: bool) -> Any:
    """(gradients, second gradients) with fixed cotangents; None where there is none."""
    results = tensors_in(function(*side.args, **side.kwargs))
    outputs, weights = cotangents(results, side.module)
    if not outputs:
        return None, None
    grad = side.module.autograd.grad
    first = grad(outputs, side.inputs, weights, create_graph=second, allow_unused=True)
    again, weights = cotangents(first, side.module)
    if not again:
        return first, None
    return first, grad(again, side.inputs, weights, allow_unused=True)


def same_gradients(ours: Any, theirs: Any, inputs: list[Any], rtol: float, what: str) -> None:
    for i, x in enumerate(inputs):
        a = None if ours is None else ours[i]
        b = None if theirs is None else theirs[i]
        # Adding zeros makes a number of PyTorch's internal ZeroTensor.
        b = torch.zeros_like(x) + (0 if b is None else b.detach().resolve_conj())
        if a is None:
            same(torchlike.tensor(np.zeros_like(as_numpy(x))), b, f"{what} {i} (none)", rtol)
        else:
            same(a, b, f"{what} {i}", rtol)


def compare(case_: Case, parts: str = "value grad inplace out", full: bool = False) -> None:
    """AssertionError (or the op's own error) where torchlike differs from PyTorch.

    In the ordinary run only the first case of a name goes through the second gradient, the in-place
    twin and ``out=``: each is an executable more to compile, and the same code serves all cases.
    """
    everything = full or case_.number == 0
    name = case_.name
    theirs, ours = resolve(torch, name), resolve(torchlike, name)
    a, b = make(case_, torchlike, False), make(case_, torch, False)
    expected = theirs(*b.args, **b.kwargs)
    if "value" in parts:
        same_results(ours(*a.args, **a.kwargs), expected, case_, "value")
        method = name.split(".")[-1]
        on_tensor = "." not in name and a.args and isinstance(a.args[0], torchlike.Tensor)
        known = callable(getattr(torch.Tensor, method, None)) and "method" not in case_.skip
        if on_tensor and known:
            found = getattr(a.args[0], method)(*a.args[1:], **a.kwargs)
            same_results(found, expected, case_, "method")
    if "grad" in parts and "grad" not in case_.skip:
        check_gradient(case_, ours, theirs, everything)
    if everything and "inplace" in parts and "inplace" not in case_.skip:
        check_in_place(case_)
    if everything and "out" in parts and "out" not in case_.skip:
        check_out(case_, ours, theirs, expected)


def check_gradient(case_: Case, ours: Any, theirs: Any, second_too: bool) -> None:
    a, b = make(case_, torchlike, True), make(case_, torch, True)
    if not b.inputs:
        return
    twice = second_too and "second" not in case_.skip
    first, second = gradients(b, theirs, twice)
    mine, mine_second = gradients(a, ours, twice)
    rtol = max(case_.rtol, 2e-5)
    same_gradients(mine, first, b.inputs, rtol, "gradient")
    if twice:
        same_gradients(mine_second, second, b.inputs, 5 * rtol, "second gradient")


def check_in_place(case_: Case) -> None:
    method = case_.name.split(".")[-1] + "_"
    if not hasattr(torch.Tensor, method) or case_.name.count(".") > 1:
        return
    a, b = make(case_, torchlike, False), make(case_, torch, False)
    if not isinstance(b.args[0], torch.Tensor):
        return
    try:
        expected = getattr(b.args[0], method)(*b.args[1:], **b.kwargs)
    except Exception as error:
        try:
            getattr(a.args[0], method)(*a.args[1:], **a.kwargs)
        except type(error):
            return
        except Exception as found:
            raise AssertionError(f"in place: {type(found)}: {found}, not {error!r}") from found
        raise AssertionError(f"in place: no error, PyTorch: {error!r}") from error
    found = getattr(a.args[0], method)(*a.args[1:], **a.kwargs)
    assert found is a.args[0], "in place: does not return its tensor"
    same_results(found, expected, case_, "in place")


def check_out(case_: Case, ours: Any, theirs: Any, expected: Any) -> None:
    outputs = tensors_in(expected)
    if not outputs or isinstance(expected, list) or case_.name.startswith("Tensor."):
        return
    a, b = make(case_, torchlike, False), make(case_, torch, False)

    def targets(module: Any) -> Any:
        made = [
            module.zeros(tuple(t.shape), dtype=getattr(module, str(t.dtype)[6:])) for t in outputs
        ]
        return made[0] if isinstance(expected, torch.Tensor) else tuple(made)

    out = targets(torch)
    try:
        theirs(*b.args, **b.kwargs, out=out)
    except (TypeError, RuntimeError, NotImplementedError):
        return  # PyTorch has no out= here
    mine = targets(torchlike)
    ours(*a.args, **a.kwargs, out=mine)
    for x, y in zip(tensors_in(mine), tensors_in(out), strict=True):
        same(x, y, "out=", case_.rtol)


# -- errors ----------------------------------------------------------------------------------------


def first_words(error: Exception, count: int) -> str:
    return " ".join(str(error).strip().split()[:count])


def raised(module: Any, side: Side, name: str) -> Any:
    """The exception of a call, or None with its result."""
    try:
        return None, resolve(module, name)(*side.args, **side.kwargs)
    except Exception as error:
        return error, None


def compare_error(case_: Case, words: int = 6) -> None:
    """The same exception type and the same first words."""
    expected, _ = raised(torch, make(case_, torch, False), case_.name)
    assert expected is not None, "PyTorch raises nothing"
    found, result = raised(torchlike, make(case_, torchlike, False), case_.name)
    assert found is not None, f"{result!r} instead of {expected!r}"
    said = f"{found!r} instead of {expected!r}"
    assert type(found).__name__ == type(expected).__name__.lstrip("_"), said
    if "words" not in case_.skip:
        assert first_words(found, words) == first_words(expected, words), said
