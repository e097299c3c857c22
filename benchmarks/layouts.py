"""Sparse products and attention of ragged sequences: ``python -m benchmarks.layouts [--quick]``.

A matrix of 10,000 × 10,000 with 100,000 elements, in CSR and in coordinate form, times a vector and
times 64 columns, in SciPy, PyTorch and torchlike (eager and jitted): forward alone, with the
gradient of the dense factor, and with that of the elements too. Then attention of 32 sequences of
10 to 1,000 rows, 8 heads of 64: of one jagged tensor, and as the *ideal*, which has no padding and
no bookkeeping: each sequence alone through the same function, in torchlike all in one program.

All in one process, in turns whose order rotates; before each turn the machine is let come to rest,
because PyTorch's threads spin for a while after their work. A time is the median of the rounds'
fastest blocks (`clock.py`). Ratios are to SciPy, and for attention to the same library's ideal.
``first`` is the first call, compilation with it.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import clock, stats
from benchmarks.build import ready_torchlike
from benchmarks.tables import duration

#: PyTorch's threads have stopped spinning after so many seconds.
REST = 0.25
#: How far a float32 result may be from the reference's, relative to its largest element.
TOLERANCE = 1e-4
#: The ways in which torchlike runs.
EAGER, JITTED = "torchlike", "torchlike.jit"

Step = Callable[[], Any]


@dataclass(frozen=True)
class Sizes:
    """How large the problems are."""

    rows: int
    elements: int
    columns: int
    sequences: int
    shortest: int
    longest: int
    heads: int = 8
    features: int = 64


FULL = Sizes(10_000, 100_000, 64, 32, 10, 1000)
QUICK = Sizes(300, 3000, 8, 4, 5, 70, 2, 8)


@dataclass
class Case:
    """One row of the table: what is computed, by whom.

    Attributes:
        steps: a call of each contestant, which gives a list of arrays.
        references: which contestant each is divided by.
    """

    name: str
    steps: dict[str, Step]
    references: dict[str, str]
    first: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


# -- sparse products -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matrix:
    """Where the elements of a matrix are, sorted and distinct, and what they are."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    n: int

    def begins(self) -> np.ndarray:
        """Return the position at which the elements of each row begin."""
        return np.searchsorted(self.rows, np.arange(self.n + 1)).astype(np.int64)


def matrix(sizes: Sizes) -> Matrix:
    """Make a random matrix."""
    rng = np.random.default_rng(0)
    flat = np.sort(rng.choice(sizes.rows**2, sizes.elements, replace=False))
    values = rng.standard_normal(sizes.elements, np.float32)
    return Matrix(flat // sizes.rows, flat % sizes.rows, values, sizes.rows)


def in_scipy(m: Matrix, layout: str, x: np.ndarray, g: np.ndarray) -> dict[str, Step]:
    """Return functions by pass: SciPy's products, and the elements' gradients by NumPy."""
    from scipy import sparse

    a: Any = sparse.coo_array((m.values, (m.rows, m.columns)), shape=(m.n, m.n))
    a = a.tocsr() if layout == "csr" else a
    transposed = a.T

    def of_elements() -> np.ndarray:
        if x.ndim == 1:
            return g[m.rows] * x[m.columns]
        return np.einsum("ij,ij->i", g[m.rows], x[m.columns])

    return {
        "forward": lambda: [a @ x],
        "+ dense gradient": lambda: [a @ x, transposed @ g],
        "+ both gradients": lambda: [a @ x, transposed @ g, of_elements()],
    }


def in_torch(library: Any, m: Matrix, layout: str, x: np.ndarray, g: np.ndarray) -> dict[str, Any]:
    """Return functions by pass, of the matrix and the dense factor, and these two."""
    size, values = (m.n, m.n), library.tensor(m.values)
    if layout == "csr":
        parts = library.tensor(m.begins()), library.tensor(m.columns)
        a = library.sparse_csr_tensor(*parts, values, size)
    else:
        at = library.tensor(np.stack([m.rows, m.columns]))
        a = library.sparse_coo_tensor(at, values, size, is_coalesced=True)
    dense, along = library.tensor(x), library.tensor(g)

    def forward(a: Any, x: Any) -> list[Any]:
        return [a @ x]

    def of_dense(a: Any, x: Any) -> list[Any]:
        product = a @ x
        return [product.detach(), *library.autograd.grad(product, [x], along)]

    def of_both(a: Any, x: Any) -> list[Any]:
        product = a @ x
        by_x, by_a = library.autograd.grad(product, [x, a], along)
        values = by_a.values() if layout == "csr" else by_a._values()
        return [product.detach(), by_x, values]

    leaf, elements = dense.detach().clone().requires_grad_(), a.detach().clone().requires_grad_()
    return {
        "forward": (forward, a, dense),
        "+ dense gradient": (of_dense, a, leaf),
        "+ both gradients": (of_both, elements, leaf),
    }


def products(sizes: Sizes, torch: Any, torchlike: Any) -> list[Case]:
    """Return a case for each layout, factor and pass."""
    m, rng, found = matrix(sizes), np.random.default_rng(1), []
    for layout in ("csr", "coo"):
        for shape in ((sizes.rows,), (sizes.rows, sizes.columns)):
            x, g = (rng.standard_normal(shape, np.float32) for _ in range(2))
            theirs, ours = (in_torch(lib, m, layout, x, g) for lib in (torch, torchlike))
            for name, reference in in_scipy(m, layout, x, g).items():
                steps = {"scipy": reference, "torch": _called(*theirs[name])}
                function, *given = ours[name]
                steps[EAGER] = _called(function, *given)
                steps[JITTED] = _called(torchlike.jit(function), *given)
                factor = "vector" if len(shape) == 1 else f"{sizes.columns} columns"
                found.append(
                    Case(f"{layout} @ {factor}, {name}", steps, dict.fromkeys(steps, "scipy"))
                )
    return found


def _called(function: Any, *given: Any) -> Step:
    return lambda: function(*given)


# -- attention -------------------------------------------------------------------------------------


def lengths_of(sizes: Sizes) -> list[int]:
    """Draw the sequences' numbers of rows."""
    rng = np.random.default_rng(2)
    return rng.integers(sizes.shortest, sizes.longest + 1, sizes.sequences).tolist()


def attention_in(library: Any, sizes: Sizes, backward: bool) -> tuple[Any, Any, list[Any]]:
    """Make attention of a jagged tensor and of each sequence alone: functions of query, key and
    value (rows, heads, features), and these."""
    attend = library.nn.functional.scaled_dot_product_attention
    lengths = lengths_of(sizes)
    ends = np.cumsum([0, *lengths])
    offsets = library.tensor(ends)
    rng = np.random.default_rng(3)
    shape = (sum(lengths), sizes.heads, sizes.features)
    parts = [library.tensor(rng.standard_normal(shape, np.float32)) for _ in range(3)]
    along = library.tensor(rng.standard_normal(shape, np.float32))
    if backward:
        parts = [part.requires_grad_() for part in parts]

    def with_gradients(out: Any, leaves: Sequence[Any]) -> list[Any]:
        if not backward:
            return [out]
        return [out.detach(), *library.autograd.grad(out, leaves, along)]

    def jagged(*leaves: Any) -> list[Any]:
        make = library.nested.nested_tensor_from_jagged
        # Known from the data, so that nobody has to ask the offsets.
        known = {"min_seqlen": min(lengths), "max_seqlen": max(lengths)}
        q, k, v = (make(t, offsets, **known).transpose(1, 2) for t in leaves)
        return with_gradients(attend(q, k, v).transpose(1, 2).values(), leaves)

    def alone(*leaves: Any) -> list[Any]:
        outs = []
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            q, k, v = (t[a:b].transpose(0, 1)[None] for t in leaves)
            outs.append(attend(q, k, v)[0].transpose(0, 1))
        return with_gradients(library.cat(outs), leaves)

    return jagged, alone, parts


def attentions(sizes: Sizes, torch: Any, torchlike: Any) -> list[Case]:
    """Return the cases of attention: forward, and with gradients."""
    found = []
    for name, backward in (("forward", False), ("+ gradients", True)):
        jagged, alone, given = attention_in(torchlike, sizes, backward)
        theirs, theirs_alone, theirs_given = attention_in(torch, sizes, backward)
        steps = {
            "torch, alone": _called(theirs_alone, *theirs_given),
            "torch": _called(theirs, *theirs_given),
            "torchlike.jit, alone": _called(torchlike.jit(alone), *given),
            EAGER: _called(jagged, *given),
            JITTED: _called(torchlike.jit(jagged), *given),
        }
        references = {
            "torch, alone": "torch, alone",
            "torch": "torch, alone",
            **dict.fromkeys(("torchlike.jit, alone", EAGER, JITTED), "torchlike.jit, alone"),
        }
        found.append(Case(f"jagged attention, {name}", steps, references))
    return found


# -- running ---------------------------------------------------------------------------------------


def _arrays(result: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(r if isinstance(r, np.ndarray) else r.detach().numpy()) for r in result]


def begin(case: Case) -> dict[str, clock.Runner]:
    """Make the first calls. AssertionError unless all that answer give the same; who refuses is
    noted."""
    runners, expected = {}, None
    for who, step in case.steps.items():
        time.sleep(REST)
        try:
            case.first[who], _ = clock.timed_call(runner := clock.Runner(step, ready_torchlike))
            found = _arrays(step())
        except (RuntimeError, NotImplementedError) as error:
            if who in (EAGER, JITTED):
                raise
            case.refused[who] = str(error).partition("\n")[0][:60]
            continue
        runners[who] = runner
        expected = expected or found
        for ours, theirs in zip(found, expected, strict=True):
            off = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
            assert off < TOLERANCE, f"{case.name}: {who} is {off} from the first"
    return runners


def measure(case: Case, rounds: int, seconds: float) -> None:
    """Measure rounds of all contestants in turns."""
    runners = begin(case)
    counts = {}
    for who, runner in runners.items():
        time.sleep(REST)
        clock.best_of_round(runner, clock.MIN_STEPS_PER_BLOCK, seconds)  # first calls of NumPy's
        counts[who] = clock.steps_per_block(runner)
    order = list(runners)
    for i in range(rounds):
        for who in order[i % len(order) :] + order[: i % len(order)]:
            time.sleep(REST)
            best, _ = clock.best_of_round(runners[who], counts[who], seconds)
            case.rounds.setdefault(who, []).append(best)


def lines(case: Case) -> list[str]:
    """Write the case as rows of the table."""
    found = [case.name]
    for who, reference in case.references.items():
        if who in case.refused:
            found.append(f"  {who:22} refuses: {case.refused[who]}")
            continue
        mine = case.rounds[who]
        ratio = ""
        if reference in case.rounds:
            ratio = f"{stats.ratio(mine, case.rounds[reference]):6.2f} × {reference}"
        found.append(
            f"  {who:22} {duration(stats.typical(mine)):>9} ± {stats.spread(mine):4.0%}"
            f"   first {duration(case.first[who]):>9}   {ratio}".rstrip()
        )
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print each case when it is done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", help="only those whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a contestant's round")
    parser.add_argument("--quick", action="store_true", help="does it run? small problems")
    arguments = parser.parse_args(argv)
    from torchlike.porting.allocator import tune_allocator

    tune_allocator()
    torch, torchlike = (importlib.import_module(name) for name in ("torch", "torchlike"))
    sizes = QUICK if arguments.quick else FULL
    for case in products(sizes, torch, torchlike) + attentions(sizes, torch, torchlike):
        if arguments.cases and not any(part in case.name for part in arguments.cases):
            continue
        measure(case, arguments.rounds, arguments.seconds)
        print(*lines(case), sep="\n", flush=True)


if __name__ == "__main__":
    main()
