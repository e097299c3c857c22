"""The columns of the table: what is held against PyTorch for one entry and dtype.

Each column is a function ``(entry, dtype, limit) -> number of samples compared``. It raises
``Mismatch`` naming the first samples that differ, ``NotApplicable`` where there is nothing to
compare.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

import torchlike
from torchlike._core.errors import JitCaptureError

from .compare import same, tensors_in, tolerance_of
from .convert import Converter, NotConvertible, torch_of
from .invariants import INVARIANTS, UNINITIALISED
from .translate import MissingName, callable_of, function_of, get

# The tables ask for each sample which unittest is running: half of a cell's time, for nothing here.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16)


class NotApplicable(Exception):
    """The entry has nothing to compare in this column."""


class Mismatch(AssertionError):
    """Some samples differ; the text says how the first ones do."""


class Entry:
    """One entry of op_db with torchlike's callable."""

    def __init__(self, info: Any) -> None:
        self.info = info
        self.name: str = info.full_name

    def __repr__(self) -> str:
        return self.name

    def function(self) -> Callable[..., Any]:
        return function_of(self.info)

    def samples(self, dtype: torch.dtype, limit: int | None, requires_grad: bool = False) -> Any:
        """Sample inputs, all of them or ``limit`` spread evenly over them."""
        torch.manual_seed(0)
        found = self.info.sample_inputs("cpu", dtype, requires_grad=requires_grad)
        if limit is None:
            return found
        if limit == 1:
            return list(itertools.islice(found, 1))
        some = list(itertools.islice(found, 256))
        if len(some) <= limit:
            return some
        return [some[i * len(some) // limit] for i in range(limit)]

    def dtypes(self) -> list[torch.dtype]:
        supported = self.info.supported_dtypes("cpu")
        return [d for d in DTYPES if d in supported]

    def first_dtype(self) -> list[torch.dtype]:
        return self.dtypes()[:1]

    def wide(self) -> list[torch.dtype]:
        """The dtypes in which gradients are compared: 64-bit, so that tolerances can be tight."""
        if not self.info.supports_autograd:
            return []
        supported = self.info.supported_backward_dtypes("cpu")
        found = [d for d in (torch.float64, torch.complex128) if d in supported]
        return found or [d for d in (torch.float32, torch.complex64) if d in supported]


def entries() -> list[Entry]:
    """Every entry of PyTorch's table, in its order."""
    return [Entry(info) for info in op_db]


class Pair:
    """One sample, for PyTorch and for torchlike."""

    def __init__(self, sample: Any) -> None:
        convert = Converter(callable_of)
        self.theirs = (sample.input, *sample.args)
        self.their_keywords = sample.kwargs
        self.ours = convert(self.theirs)
        self.our_keywords = convert(sample.kwargs)
        self.leaves = convert.leaves
        self.process = sample.output_process_fn_grad
        self.broadcasts = sample.broadcasts_input


def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """(result, None) or (None, the exception)."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def seeded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """``attempt`` with both default generators at one seed."""
    torch.manual_seed(7)
    torchlike.manual_seed(7)
    return attempt(function, *args, **kwargs)


def run(entry: Entry, samples: Iterator[Any], compare: Callable[[Pair, Any], None]) -> int:
    """``compare`` each sample; gathers what differs. NotApplicable when nothing was comparable."""
    count, differing, why, failures = 0, 0, "no samples", []
    for number, sample in enumerate(samples):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compare(Pair(sample), sample)
            count += 1
        except (NotApplicable, NotConvertible) as reason:
            why = str(reason)
        except MissingName:
            raise
        except Exception as error:
            differing += 1
            count += 1
            if len(failures) < 3:
                failures.append(f"sample {number}: {type(error).__name__}: {error}"[:500])
    if differing:
        raise Mismatch(f"{differing} of {count} samples differ\n" + "\n".join(failures))
    if not count:
        raise NotApplicable(why)
    return count


def invariant(entry: Entry, result: Any) -> Any:
    """The part of a result that is unique (a decomposition's factors are so up to signs)."""
    found = INVARIANTS.get(entry.info.name)
    return result if found is None else found(result)


def compare_results(entry: Entry, ours: Any, theirs: Any, where: str = "result") -> None:
    known = entry.info.name not in UNINITIALISED
    same(ours, theirs, entry.info, values=known and entry.info.name not in INVARIANTS, where=where)
    if entry.info.name in INVARIANTS:
        same(invariant(entry, ours), invariant(entry, theirs), entry.info, where=where)


def _both(
    entry: Entry, ours: Callable[..., Any], theirs: Callable[..., Any], pair: Pair
) -> tuple[Any, Any]:
    """Both results. NotApplicable where PyTorch itself refuses the sample."""
    expected, error = seeded(theirs, *pair.theirs, **pair.their_keywords)
    if error is not None:
        raise NotApplicable(f"PyTorch raises {type(error).__name__}")
    found, error = seeded(ours, *pair.ours, **pair.our_keywords)
    if error is not None:
        raise error
    return found, expected


# -- forward ---------------------------------------------------------------------------------------


def values(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """The function's results: structure, dtypes, shapes, values."""
    ours = entry.function()

    def compare(pair: Pair, sample: Any) -> None:
        found, expected = _both(entry, ours, entry.info.op, pair)
        try:
            compare_results(entry, found, expected)
        except AssertionError:
            # 16-bit kernels round in the middle, each in its own places. Then the result that
            # PyTorch computes in float32 from the same values decides.
            if dtype is not torch.bfloat16:
                raise
            wide = sample.transform(_widened)
            exact, error = seeded(entry.info.op, wide.input, *wide.args, **wide.kwargs)
            if error is not None:
                raise
            compare_results(entry, found, _narrowed(exact, expected))

    return run(entry, entry.samples(dtype, limit), compare)


def _widened(value: Any) -> Any:
    is_16_bit = isinstance(value, torch.Tensor) and value.dtype is torch.bfloat16
    return value.float() if is_16_bit else value


def _narrowed(exact: Any, like: Any) -> Any:
    """Float32 results in the dtypes of 16-bit ones."""
    if isinstance(like, torch.Tensor):
        return exact.to(like.dtype)
    if isinstance(like, (tuple, list)):
        made = [_narrowed(a, b) for a, b in zip(exact, like, strict=True)]
        return tuple(made) if isinstance(like, tuple) else made
    return exact


def method(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """The Tensor method."""
    theirs = entry.info.get_method()
    if theirs is None:
        raise NotApplicable("no method")
    ours = callable_of(theirs)

    def compare(pair: Pair, _: Any) -> None:
        if not isinstance(pair.theirs[0], torch.Tensor):
            raise NotApplicable("the first argument is no tensor")
        compare_results(entry, *_both(entry, ours, theirs, pair))

    return run(entry, entry.samples(dtype, limit), compare)


def in_place(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """The in-place method: the written tensor, what is returned, and the error where it refuses."""
    theirs = entry.info.get_inplace()
    if theirs is None:
        raise NotApplicable("no in-place method")
    ours = callable_of(theirs)

    def compare(pair: Pair, _: Any) -> None:
        target = pair.theirs[0]
        if not isinstance(target, torch.Tensor):
            raise NotApplicable("the first argument is no tensor")
        target = target.clone()
        expected, error = seeded(theirs, target, *pair.theirs[1:], **pair.their_keywords)
        mine = pair.ours[0].clone()
        found, own = seeded(ours, mine, *pair.ours[1:], **pair.our_keywords)
        same_outcome(own, error)
        if error is None:
            assert (found is mine) == (expected is target), "returns another object"
            compare_results(entry, mine, target)

    return run(entry, entry.samples(dtype, limit), compare)


def same_outcome(ours: Any, theirs: Any, context: str = "") -> None:
    """AssertionError unless both raised the same exception type, or neither raised."""
    if theirs is None:
        if ours is not None:
            raise ours
        return
    wanted = type(theirs).__name__.lstrip("_")
    assert ours is not None, f"{context}no error, PyTorch: {wanted}: {str(theirs)[:200]}"
    assert type(ours).__name__ == wanted, (
        f"{context}{type(ours).__name__}: {str(ours)[:200]}, PyTorch: {wanted}: {str(theirs)[:200]}"
    )


#: dtypes of ``out=`` tried beside the result's own: some can hold the result, some cannot.
_OUT_DTYPES = (torch.int64, torch.float64, torch.complex64)
#: What `out=` does hardly depends on the sample, and each is tried six times.
_OUT_SAMPLES = 16


def out(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """``out=``: of the right shape, empty, of a wrong shape (resized), of other dtypes."""
    if not entry.info.supports_out:
        raise NotApplicable("no out=")
    ours = entry.function()

    def compare(pair: Pair, _: Any) -> None:
        expected, error = seeded(entry.info.op, *pair.theirs, **pair.their_keywords)
        if error is not None:
            raise NotApplicable(f"PyTorch raises {type(error).__name__}")
        results = list(tensors_in(expected))
        single = isinstance(expected, torch.Tensor)

        def trial(label: str, shape_of: Any, dtype_of: Any) -> None:
            targets = [torch.full(shape_of(r), 3, dtype=dtype_of(r)) for r in results]
            mine = Converter()(targets)
            given = targets[0] if single else tuple(targets)
            their, error = seeded(entry.info.op, *pair.theirs, **pair.their_keywords, out=given)
            our, own = seeded(
                ours, *pair.ours, **pair.our_keywords, out=mine[0] if single else tuple(mine)
            )
            same_outcome(own, error, f"out= {label}: ")
            if error is None:
                with tolerance_of(results):
                    compare_results(
                        entry, mine[0] if single else tuple(mine), given, f"out= {label}"
                    )
                if their is not None:
                    for a, b in zip(tensors_in(our), mine, strict=True):
                        assert a is b, f"out= {label}: returns another tensor"

        trial("right", lambda r: r.shape, lambda r: r.dtype)
        trial("empty", lambda r: (0,), lambda r: r.dtype)
        trial("wrong shape", lambda r: (*r.shape, 2), lambda r: r.dtype)
        for other in _OUT_DTYPES:
            if all(r.dtype is not other for r in results):
                trial(str(other), lambda r: r.shape, lambda r: other)  # noqa: B023

    return run(entry, entry.samples(dtype, limit or _OUT_SAMPLES), compare)


# -- gradients -------------------------------------------------------------------------------------


def _cotangent(shape: Any, dtype: torch.dtype, seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(-1, 1, tuple(shape))
    if dtype.is_complex:
        drawn = drawn + 1j * rng.uniform(-1, 1, tuple(shape))
    return torch.tensor(drawn).to(dtype)


def _gradients(module: Any, result: Any, leaves: list[Any], cotangents: list[Any]) -> Any:
    outputs = [t for t in tensors_in(result) if _wants_gradient(t)]
    return module.autograd.grad(outputs, leaves, cotangents, create_graph=True, allow_unused=True)


def _same_gradients(entry: Entry, ours: Any, theirs: Any, leaves: list[Any], where: str) -> None:
    """A gradient that is None on one side may be zeros on the other."""
    for i, (a, b, leaf) in enumerate(zip(ours, theirs, leaves, strict=True)):
        if b is None:
            b = torch.zeros_like(leaf)
        if a is None:
            a = Converter()(torch.zeros_like(leaf).detach())
        with tolerance_of(leaves):
            same(a, b, entry.info, where=f"{where} of leaf {i}")


def _wants_gradient(t: Any) -> bool:
    """An output without elements may say either."""
    return t.requires_grad and t.numel() > 0


def _graph(entry: Entry, ours: Any, theirs: Any, pair: Pair) -> tuple[Any, Any]:
    """Both results, with what the entry does to make their gradients well defined."""
    if not pair.leaves:
        raise NotApplicable("nothing requires grad")
    found, expected = _both(entry, ours, theirs, pair)
    if pair.process is not None:
        process = callable_of(pair.process)
        found, expected = process(found), pair.process(expected)
    wants = [_wants_gradient(t) for t in tensors_in(expected)]
    assert [_wants_gradient(t) for t in tensors_in(found)] == wants, "other outputs require grad"
    if not any(wants):
        raise NotApplicable("no output requires grad")
    return found, expected


def _input_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    mask = torch.logical_and(kwargs["input_mask"], kwargs["other_mask"])
    return torch.masked._input_mask(input, *args, mask=mask)


_MASKING = {
    core.gradcheck_wrapper_masked_operation: lambda op, *a, **k: torch.masked._output_mask(
        op, *a, **k
    ),
    core.gradcheck_wrapper_masked_pointwise_operation: _input_mask,
}


def _wrapped(entry: Entry) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Both functions as PyTorch's gradient tests call them: eigh(A) as eigh(A + A.mH), say."""
    wrapper, ours = entry.info.gradcheck_wrapper, entry.function()
    if wrapper in _MASKING:
        # Which results count is PyTorch's to say: it is found there, for both sides.
        of_op = _MASKING[wrapper]

        def masked(*args: Any, **kwargs: Any) -> Any:
            result = ours(*args, **kwargs)
            masks = [k for k in kwargs if k.endswith("mask")]
            if not masks or any(kwargs[k] is None for k in masks):
                return result
            theirs = [_as_torch(a) for a in args]
            counts = of_op(entry.info.op, *theirs, **_as_torch(kwargs))
            return torchlike.where(Converter()(counts), result, result.new_zeros([]))

        return masked, functools.partial(wrapper, entry.info.op)
    mine = callable_of(wrapper)
    return functools.partial(mine, ours), functools.partial(wrapper, entry.info.op)


def _first_gradients(entry: Entry, pair: Pair) -> tuple[Any, Any, list[Any], list[Any]]:
    found, expected = _graph(entry, *_wrapped(entry), pair)
    cotangents = [
        _cotangent(t.shape, t.dtype, i)
        for i, t in enumerate(t for t in tensors_in(expected) if _wants_gradient(t))
    ]
    mine = [Converter()(c) for c in cotangents]
    their_leaves = [a for a, _ in pair.leaves]
    our_leaves = [b for _, b in pair.leaves]
    theirs, error = attempt(_gradients, torch, expected, their_leaves, cotangents)
    if error is not None:
        raise NotApplicable(f"PyTorch's backward raises {type(error).__name__}")
    return (
        _gradients(torchlike, found, our_leaves, mine),
        theirs,
        our_leaves,
        their_leaves,
    )


def gradient(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """First gradients with random cotangents."""
    entry.function()  # MissingName for the whole cell

    def compare(pair: Pair, _: Any) -> None:
        found, expected, _, leaves = _first_gradients(entry, pair)
        _same_gradients(entry, found, expected, leaves, "gradient")

    return run(entry, entry.samples(dtype, limit, requires_grad=True), compare)


def second_gradient(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """Gradients of the gradients."""
    if not entry.info.supports_gradgrad:
        raise NotApplicable("no second gradient")
    entry.function()  # MissingName for the whole cell

    def compare(pair: Pair, _: Any) -> None:
        found, expected, our_leaves, their_leaves = _first_gradients(entry, pair)
        pairs = [
            (a, b)
            for a, b in zip(found, expected, strict=True)
            if b is not None and b.requires_grad and a is not None and a.requires_grad
        ]
        if not pairs:
            raise NotApplicable("the gradient is constant")
        cotangents = [_cotangent(b.shape, b.dtype, 10 + i) for i, (_, b) in enumerate(pairs)]
        second, error = attempt(
            torch.autograd.grad, [b for _, b in pairs], their_leaves, cotangents, allow_unused=True
        )
        if error is not None:
            raise NotApplicable(f"PyTorch's second backward raises {type(error).__name__}")
        mine = torchlike.autograd.grad(
            [a for a, _ in pairs],
            our_leaves,
            [Converter()(c) for c in cotangents],
            allow_unused=True,
        )
        _same_gradients(entry, mine, second, their_leaves, "second gradient")

    return run(entry, entry.samples(dtype, limit, requires_grad=True), compare)


# -- the rest --------------------------------------------------------------------------------------


class _ErrorSample:
    """An error input in the clothes of a sample."""

    def __init__(self, error_input: Any) -> None:
        sample = error_input.sample_input
        self.input, self.args, self.kwargs = sample.input, sample.args, sample.kwargs
        self.output_process_fn_grad = None
        self.broadcasts_input = False


def errors(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """The same exception type for bad input. (``dtype`` plays no part: the table has its own.)"""
    if entry.info.error_inputs_func is None:
        raise NotApplicable("no error inputs")
    ours = entry.function()
    torch.manual_seed(0)
    samples = [_ErrorSample(e) for e in entry.info.error_inputs("cpu")]

    def compare(pair: Pair, _: Any) -> None:
        _, error = seeded(entry.info.op, *pair.theirs, **pair.their_keywords)
        if error is None:
            raise NotApplicable("PyTorch does not raise")
        _, own = seeded(ours, *pair.ours, **pair.our_keywords)
        if isinstance(own, MissingName):
            raise own
        same_outcome(own, error)

    return run(entry, iter(samples if limit is None else samples[: 4 * limit]), compare)


def jit(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """Compiled as eager; an op that must look at values says so with JitCaptureError."""
    ours = entry.function()

    def compare(pair: Pair, _: Any) -> None:
        eager, error = seeded(ours, *pair.ours, **pair.our_keywords)
        if error is not None:
            raise NotApplicable(f"raises {type(error).__name__}")
        tensors = list(tensors_in([pair.ours, pair.our_keywords]))
        places = {id(t): i for i, t in enumerate(tensors)}

        def filled(value: Any, given: Any) -> Any:
            if isinstance(value, torchlike.Tensor):
                return given[places[id(value)]]
            if type(value) in (tuple, list):
                return type(value)(filled(v, given) for v in value)
            if type(value) is dict:
                return {k: filled(v, given) for k, v in value.items()}
            return value

        def call(*given: Any) -> Any:
            return ours(*filled(pair.ours, given), **filled(pair.our_keywords, given))

        compiled, error = seeded(torchlike.jit(call), *tensors)
        if isinstance(error, JitCaptureError):
            return
        if error is not None:
            raise error
        compare_results(entry, compiled, _as_torch(eager), "jit")

    return run(entry, entry.samples(dtype, limit), compare)


def _as_torch(value: Any) -> Any:
    if isinstance(value, torchlike.Tensor):
        return torch_of(value)
    if isinstance(value, torchlike.dtype):
        return getattr(torch, value.name)
    if isinstance(value, torchlike.Size):
        return torch.Size(value)
    if isinstance(value, (tuple, list)):
        made = [_as_torch(v) for v in value]
        return tuple(made) if isinstance(value, tuple) else made
    if isinstance(value, dict):
        return {k: _as_torch(v) for k, v in value.items()}
    return value


def meta(entry: Entry, dtype: torch.dtype, limit: int | None) -> int:
    """Shapes and dtypes on the meta device."""
    if not has_meta():
        raise NotApplicable("torchlike has no meta device")
    ours = entry.function()

    def compare(pair: Pair, sample: Any) -> None:
        there = sample.transform(lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v)
        expected, error = seeded(entry.info.op, there.input, *there.args, **there.kwargs)
        if error is not None:
            raise NotApplicable(f"PyTorch raises {type(error).__name__} on meta tensors")

        def moved(value: Any) -> Any:
            if isinstance(value, torchlike.Tensor):
                return value.to("meta")
            if type(value) in (tuple, list):
                return type(value)(moved(v) for v in value)
            return {k: moved(v) for k, v in value.items()} if type(value) is dict else value

        found, own = seeded(ours, *moved(pair.ours), **moved(pair.our_keywords))
        if own is not None:
            raise own
        same(found, expected, entry.info, values=False)

    return run(entry, entry.samples(dtype, limit), compare)


def has_meta() -> bool:
    """Whether torchlike can make tensors on the meta device."""
    try:
        torchlike.empty(1, device="meta")
    except NotImplementedError:
        return False
    return True


#: name -> (function, the dtypes it runs for)
COLUMNS: dict[str, tuple[Callable[[Entry, torch.dtype, int | None], int], Any]] = {
    "values": (values, Entry.dtypes),
    "method": (method, Entry.first_dtype),
    "in-place": (in_place, lambda e: e.dtypes()[:2]),
    "out": (out, Entry.first_dtype),
    "gradient": (gradient, Entry.wide),
    "second gradient": (second_gradient, Entry.wide),
    "errors": (errors, Entry.first_dtype),
    "jit": (jit, Entry.first_dtype),
    "meta": (meta, Entry.first_dtype),
}

__all__ = ["COLUMNS", "Entry", "Mismatch", "MissingName", "NotApplicable", "entries", "get"]
