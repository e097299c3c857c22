"""When compiling pays: how long a program takes by NumPy, and how long to compile.

Both are estimates from sizes alone, so two runs of a script switch at the same call and give the
same bits. NumPy is given as much work as compiling is thought to take; what is spent is then at
most about twice what knowing the number of calls beforehand would have taken. It is given less of
small work: what has been called a hundred times is in a loop that will go on (`_FEW_CALLS`).

Units: 1 is the time of one addition of float32 in a large array, about 0.2 ns. Factors were
measured on 128 Ki elements, and whole programs in the steps of an MLP, a CNN, an LSTM and a GPT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.first_calls.single_rows import of_one_row, read_whole
from torchlike._runtime.jax_private.equations import LOOPS, subjaxprs, walk

#: What NumPy takes for an equation, however small its arrays are.
_PER_EQUATION = 5e3
#: What XLA takes for a program, and for the square root of the number of its equations: 40 ms for
#: one, 60 for 4, 180 for 60 to 130, and 600 for 1,900 of an optimizer's, which are much alike.
_COMPILING = 125e6
_COMPILING_EQUATIONS = 75e6
#: So many calls say nothing of how many will follow. After c times as many a loop is under way that
#: will go on, and compiling is due at 1/c of its cost. Where all arrays are small c is at most the
#: first of `_LONGER`, for those may be on the host throughout. Else, among compiled programs, which
#: run beside Python, a call by NumPy is a wait too, and c is at most the second.
_FEW_CALLS = 30
_LONGER = 4, 20
#: Elements of an array that is not small.
_LARGE = 1 << 14
#: A signature is called this often by NumPy at most.
_MOST_CALLS = 1000
#: What NumPy takes for a step of a program that has run before; what the call of a compiled program
#: takes, and the way of each of its operands and results between host and device.
_PER_STEP = 1.8e3
#: What XLA takes for a whole program, for each equation, for one within a loop, and for a
#: convolution: 8 s for the 9,200 of a step of GPT-2 in 12 layers, 14 for the 11,300 of a
#: ResNet-50's, 3.3 for the 1,200 of two LSTM cells' loop, on two processors that do other things.
_WHOLE = 3e9
_WHOLE_EQUATION = 4e6
_WHOLE_IN_LOOP = 25e6
_WHOLE_CONVOLUTION = 5e8
#: The part of it that loading the executable takes, where it is on disk.
_LOADING = 0.25
#: And what such a step takes eagerly whose operations NumPy computes: for the work, for an
#: operation, and for each equation that it is of. 63 ms of the 12 layers, 81 of the ResNet, 29 of
#: the LSTM: within a third of those of 13 of the 16 models in docs/design/capture.md.
_BY_NUMPY_WORK = 2.0
_BY_NUMPY_CALL = 1.3e5
_BY_NUMPY_EQUATION = 8.5e3
#: The same of compiled operations.
_EAGER_WORK = 1.5
_EAGER_CALL = 1e5
#: Equations of a program that is compiled at once: half a second, of which tracing is a part.
_SMALL = 600
#: So many times as many eager calls as compiling is thought to take, which take longer beside the
#: compiler: of 16 models the program was there at 0.5 to 1.5 times that call, half of them before
#: it. And so many at most.
_MEANWHILE = 0.65
_MOST_MEANWHILE = 1000
#: The same of calls by blocks of a program that is compiled whole.
_BY_BLOCKS_MEANWHILE = 1.25
#: What XLA takes for one of many blocks of a program, and for its equations as a multiple of what a
#: whole program's take, in which equal kernels are compiled once; what a run of a block takes, and
#: an array that it is given or gives: 3 s, 4 and 7 for the steps of GPT-2, and nets like Mamba and
#: xLSTM, and 10 of 90 ms for a call of the first in 24 layers.
_BLOCK, _BLOCK_EQUATIONS = 5e8, 1.7
_PLACE, _PASSED = 1e5, 7e3
#: What a compiled program takes for the work of its equations, and for each of them.
_XLA_WORK, _XLA_EQUATION = 1.2, 5e3
#: Blocks that take more than this share of what the whole program takes to compile are not worth
#: it. The whole program is not, where less than this share of a call goes into handing arrays on.
_BLOCKS_SHARE, _WORTH_WHOLE = 0.7, 0.1
#: Operations of the smallest program that XLA hands to another thread, and what that takes.
#: Processor time (that of Python's thread) of a layer norm of 64 and 384 elements: 17 µs (17) and
#: 51 (21), of a gelu 9 (9) and 33 (11). By the clock none of 11 ops is slower for it, and an exp of
#: 1,024 takes 3.9 µs for 10.8; with 5e4 a gelu of 1,024 took 32 for 14, a softmax of 4,096 26.
_AT_ONCE = 1000
_HANDING_OVER = 3.5e4
#: Equations whose work is not the size of their arrays, or nobody knows it.
_WORK_UNTOLD = "conv_general", "reduce_window", "select_and", "pure_callback", "io_callback", "ffi"
_XLA_CALL = 12e3
_XLA_OPERAND = 3e3
#: The same of a loop's work, and of equations that become part of others in a large program, in
#: processor time. Steps of an MLP, an LSTM, a CNN, a GPT and a ResNet-18 took 3.8, 23, 47, 189 and
#: 293 ms eagerly and 2.6, 23, 22, 141 and 222 as a program; the estimates are in
#: docs/design/deferred.md.
_XLA_LOOP, _FUSED_WORK = 3.5, 0.6
#: What XLA takes for a sort of float32 or int32 more than the work: `torch.sort` of 8 rows of 1,000
#: takes 290 µs compiled, and 144 by NumPy as `rules.ordering` has it.
_XLA_SORT = 1.7
#: Equations of a call that a larger program fuses with others. Where it has more, they are fused
#: already: the step of an MLP takes 1.62 ms by calls and 1.49 as a program, a CNN's 9.5 and 5.2.
_FEW_EQUATIONS = 16
#: Turns that a loop with a condition is thought to take, and how much dearer equations are within a
#: loop, which cuts and stacks their arrays.
_TURNS = 100
_IN_LOOP = 2

#: What an element takes, where it is more than an addition.
_ELEMENT_TEXT = """
0 broadcast_in_dim iota reshape transpose squeeze slice rev
2 exp2
3 log expm1 tanh sqrt
4 exp log1p rsqrt cbrt asin acos atan sinh cosh
5 tan atanh
6 sin cos acosh atan2 select_n
7 asinh pow clamp
8 logistic
10 sign
20 cumsum cumprod cummax cummin
30 nextafter
40 erf threefry2x32
45 round
70 erfc
100 rem cumlogsumexp
110 digamma
150 erf_inv lgamma
"""
_ELEMENT: dict[str, float] = {
    name: float(cost)
    for cost, *names in map(str.split, _ELEMENT_TEXT.strip().splitlines())
    for name in names
}
#: What NumPy takes to hand a matrix to LAPACK and to take the results.
_PER_MATRIX = 1e4
#: Multiplications of LAPACK's for a matrix of m × n, k the smaller of both.
_LAPACK: dict[str, Callable[[int, int, int], float]] = {
    "cholesky": lambda m, n, k: k**3 / 3,
    "lu": lambda m, n, k: m * n * k,
    "geqrf": lambda m, n, k: 2 * m * n * k,
    "householder_product": lambda m, n, k: 2 * m * n * k,
    "qr": lambda m, n, k: 4 * m * n * k,
    "eigh": lambda m, n, k: 10 * k**3,
    "svd": lambda m, n, k: 20 * m * n * k,
    "eig": lambda m, n, k: 25 * k**3,
}
#: Arithmetic on 16-bit floats goes number by number through float32 (integers pay for it, too).
_SLOW_IN_HALF_TEXT = """
add sub mul div max min neg exp exp2 log log1p expm1 tanh erf erf_inv pow sin cos tan logistic
lgamma digamma rem cbrt atan2
"""
_SLOW_IN_HALF = frozenset(_SLOW_IN_HALF_TEXT.split())


class Compiling(NamedTuple):
    """What XLA takes for a program: how many equations it has, those within others among them, and
    what those take."""

    equations: int
    cost: float

    @property
    def by_itself(self) -> float:
        """What compiling it takes where it is no part of another program."""
        return _COMPILING + _COMPILING_EQUATIONS * math.sqrt(self.equations)


class Worth(NamedTuple):
    """What a program is worth to NumPy and to XLA."""

    #: How many calls NumPy should compute before the program is compiled; 0 compiles at once.
    calls: int
    #: Of how many functions at most a call by NumPy, on its own arrays, takes less than one of the
    #: compiled program; below 0 where none does.
    most_steps: float
    #: As how many calls more a call counts for each turn of a ``while`` loop in it.
    of_a_turn: float
    #: What compiling it takes.
    compiling: Compiling


def worth(jaxpr: Any, value: Callable[[Any], int] = int) -> Worth:
    """Estimate what is worth doing with a program. ``value`` gives the number that a size stands
    for.

    None stays with NumPy where there are loops: how long those take is known afterwards only. Nor
    where an array is large: those are computed by compiled programs beside Python, which a call by
    NumPy would wait for.
    """
    cost, n, loops = _cost(jaxpr, value)
    compiling = _compiling(jaxpr)
    is_large = _is_large(jaxpr, value)
    calls = _calls(jaxpr, cost, n, is_large)
    if loops or not calls:
        of_a_turn = 0.0
        if "while" in loops and calls:  # the turns that a call takes are known afterwards
            without = _cost(jaxpr, value, turns=0)[0]
            calls = _calls(jaxpr, without, n, is_large)
            of_a_turn = (_cost(jaxpr, value, turns=1)[0] - without) / max(without, 1.0)
        return Worth(calls, -1, of_a_turn, compiling)
    if is_large:
        return Worth(calls, -1, 0.0, compiling)
    work = cost - _PER_EQUATION * n
    work += sum([math.prod(map(value, v.aval.shape)) for v in jaxpr.outvars])
    work -= sum([_no_faster(e, value) for e in walk(jaxpr)])
    call = _xla_call(jaxpr) + (0 if _is_brief(jaxpr, value) else _HANDING_OVER)
    most_steps = (settings.xla_is_dear * call - work) / _PER_STEP
    return Worth(calls, most_steps, 0.0, compiling)


def _calls(jaxpr: Any, cost: float, n: int, is_large: bool) -> int:
    """Return how often to compute by NumPy what takes ``cost`` and has ``n`` equations."""
    gain = cost if is_large else max(cost - _xla_call(jaxpr), 1.0)
    calls = (_COMPILING + _COMPILING_EQUATIONS * math.sqrt(n)) / max(gain, 1.0)
    if calls > _FEW_CALLS:
        calls = max(math.sqrt(_FEW_CALLS * calls), calls / _LONGER[is_large])
    return min(int(calls), _MOST_CALLS) if calls >= 2 else 0


def is_brief(jaxpr: Any) -> bool:
    """Return whether XLA runs the compiled program at once, in the calling thread, so that there is
    nothing to wait for: it hands programs of more counted operations to another one. Never where
    there are loops."""
    return not _has_loops(jaxpr) and _is_brief(jaxpr, int)


def _is_brief(jaxpr: Any, value: Callable[[Any], int]) -> bool:
    return sum(_operations(eqn, value) for eqn in walk(jaxpr)) < _AT_ONCE


class WholeProgram(NamedTuple):
    """What a program that was captured whole is thought to cost, in units.

    Attributes:
      equations: how many it has, those within others among them.
      compiling: what XLA takes to compile it.
      eagerly: what a call takes whose operations run one by one.
    """

    equations: int
    compiling: float
    eagerly: float

    @property
    def calls_meanwhile(self) -> int:
        """How many eager calls take as long as compiling does; 0 where the program is so small, or
        a call so long, that nobody would notice."""
        if self.equations <= _SMALL or self.compiling <= 2 * self.eagerly:
            return 0
        return self.calls_while(self.compiling)

    @property
    def least_meanwhile(self) -> int:
        """How many eager calls take as long as compiling the smallest program: so many are made in
        any case, whatever comes out of rolling up its loops."""
        return self.calls_while(_WHOLE)

    def calls_while(self, compiling: float) -> int:
        """Return how many eager calls take as long as what takes ``compiling``."""
        return max(1, min(math.ceil(_MEANWHILE * compiling / self.eagerly), _MOST_MEANWHILE))

    def of_parts(self, parts: Sequence[Any]) -> WholeProgram:
        """Return the cost of the program once it is these jaxprs (its forward, and its backward if
        there is one), whose loops are rolled up."""
        n, compiling = map(sum, zip(*map(_compiling, parts), strict=True))
        return WholeProgram(n, _WHOLE + compiling, self.eagerly)


def loading(compiling: float) -> float:
    """Return what it takes to load from disk what takes ``compiling`` to compile."""
    return _LOADING * compiling


def whole_program(traced: Any, calls: int) -> WholeProgram:
    """Return the cost of a program of this jaxpr, which was captured of so many operations
    (``calls``)."""
    n, compiling = _compiling(traced)
    work, _, _ = _cost(traced, int, 0, 0.0)
    eagerly = _BY_NUMPY_WORK * work + _BY_NUMPY_CALL * calls + _BY_NUMPY_EQUATION * n
    return WholeProgram(n, _WHOLE + compiling, eagerly)


class CallCost(NamedTuple):
    """What a call of a compiled form is thought to cost, in units.

    Attributes:
      compiling: what compiling it takes, alone or in a program that it is a part of.
      eagerly: what it takes by itself, once it is compiled.
      within: what it takes in such a program.
    """

    compiling: Compiling
    eagerly: float
    within: float


#: What compiling a program takes beside its equations, and the most of that for each of them in a
#: small one: 0.19 s in all for the 79 of a polynomial's, 0.48 for the 234 of an MLP's step.
COMPILING_WHOLE, COMPILING_SMALL = _WHOLE, 8e6


def of_call(jaxpr: Any) -> CallCost:
    """Return the cost of a call of this jaxpr. What products take and loops, they take in any
    program; other equations become part of what uses their results. In a call of many, such as an
    optimizer's step, they are part of each other already, so a larger program wins little."""
    n, _ = compiling = _compiling(jaxpr)
    fixed, fused = _of_kinds(jaxpr)
    within = fixed + _FUSED_WORK * fused + _XLA_EQUATION * n
    few = min(n, _FEW_EQUATIONS)
    apart = (_EAGER_WORK - _FUSED_WORK) * fused * few / max(n, 1)
    eagerly = within + apart + _EAGER_CALL + _XLA_EQUATION * few
    return CallCost(compiling, eagerly, within)


def _of_kinds(jaxpr: Any) -> tuple[float, float]:
    """Return what XLA takes for the products and loops of a program, and the work of the others."""
    fixed = fused = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in LOOPS:
            turns = _turns(eqn, int, 1)
            fixed += _XLA_LOOP * turns * sum(_cost(sub, int, 1, 0.0)[0] for sub in subjaxprs(eqn))
        elif inner := [_of_kinds(sub) for sub in subjaxprs(eqn)]:
            fixed += sum([own for own, _ in inner])
            fused += sum([own for _, own in inner])
        elif eqn.primitive.name in ("dot_general", "conv_general_dilated"):
            fixed += _XLA_WORK * _elements(eqn, int)
        else:
            fused += _elements(eqn, int)
    return fixed, fused


def _compiling(jaxpr: Any) -> Compiling:
    n, cost = 0, 0.0
    for eqn in walk(jaxpr):
        n += 1
        cost += _WHOLE_EQUATION
        if eqn.primitive.name == "conv_general_dilated":
            cost += _WHOLE_CONVOLUTION
        elif eqn.primitive.name in LOOPS:
            cost += _WHOLE_IN_LOOP * sum(1 for sub in subjaxprs(eqn) for _ in walk(sub))
    return Compiling(n, cost)


class SharedBlocksCost(NamedTuple):
    """What a program is thought to cost that runs as blocks of which equal ones share executables,
    in units.

    Attributes:
      compiling: what XLA takes to compile the distinct blocks.
      whole: what it takes to compile the program as one.
      work: what a call takes, without handing arrays from block to block.
      passing: what that takes.
    """

    compiling: float
    whole: float
    work: float
    passing: float

    @property
    def pays(self) -> bool:
        """Whether the blocks are compiled much sooner than the whole program."""
        return self.compiling <= _BLOCKS_SHARE * self.whole

    @property
    def whole_begins(self) -> int | None:
        """After how many calls compiling the whole program begins: when handing arrays on has taken
        as long as it will, so that at most twice what was needed is lost, however many calls come.
        None where it would hardly be faster."""
        if self.passing < _WORTH_WHOLE * self.work:
            return None
        return math.ceil(self.whole / self.passing)

    @property
    def whole_from(self) -> int | None:
        """After how many calls the whole program is used."""
        begins = self.whole_begins
        if begins is None:
            return None
        return begins + math.ceil(_BY_BLOCKS_MEANWHILE * self.whole / (self.work + self.passing))


def shared_blocks(jaxpr: Any, plan: Any) -> SharedBlocksCost:
    """Return the cost of a program that runs by the blocks of a plan (`blocks.plan.BlockPlan`)."""
    compiling = sum(_BLOCK + _BLOCK_EQUATIONS * _compiling(b.jaxpr)[1] for b in plan.blocks)
    arrays = sum(len(place.inputs) + len(place.outputs) for place in plan.places)
    made = sum(math.prod(a.shape) for a in plan.avals[len(jaxpr.invars) :])
    n, whole = _compiling(jaxpr)
    return SharedBlocksCost(
        compiling,
        _WHOLE + whole,
        _XLA_WORK * _cost(jaxpr, int, 0, 0.0)[0] + _XLA_EQUATION * n,
        _PLACE * len(plan.places) + _PASSED * arrays + made,
    )


def _operations(eqn: Any, value: Callable[[Any], int]) -> int:
    """Return how many operations XLA counts for an equation, or more."""
    name = eqn.primitive.name
    of = eqn.invars if name.startswith("reduce") else eqn.outvars
    size = sum(math.prod(map(value, v.aval.shape)) for v in of)
    if name == "dot_general":
        (summed, _), _ = eqn.params["dimension_numbers"]
        return 2 * size * math.prod(value(eqn.invars[0].aval.shape[d]) for d in summed)
    return _AT_ONCE if name.startswith(_WORK_UNTOLD) else size


def _is_large(jaxpr: Any, value: Callable[[Any], int]) -> bool:
    """Return whether an operand or a result is too large to be on the host throughout. A matrix
    that only meets one row is none."""

    def large(v: Any) -> bool:
        return math.prod(map(value, v.aval.shape)) >= _LARGE

    if any(map(large, jaxpr.outvars)):
        return True
    operands = [v for v in jaxpr.invars if large(v)]
    return bool(operands) and not read_whole(jaxpr, value).isdisjoint(operands)


def _xla_call(jaxpr: Any) -> float:
    """Return the cost of a call of the compiled program beside its work."""
    return _XLA_CALL + _XLA_OPERAND * (len(jaxpr.invars) + len(jaxpr.outvars))


def _has_loops(jaxpr: Any) -> bool:
    return any(eqn.primitive.name in LOOPS for eqn in walk(jaxpr))


def _cost(
    jaxpr: Any,
    value: Callable[[Any], int],
    turns: int = _TURNS,
    per_equation: float = _PER_EQUATION,
) -> tuple[float, int, frozenset[str]]:
    """Return (units that NumPy takes where each ``while`` loop takes so many turns, equations of
    the program and those within it, which kinds of loops it has)."""
    total, count, loops = 0.0, 0, frozenset[str]()
    for eqn in jaxpr.eqns:
        own = _turns(eqn, value, turns)
        inner = list(subjaxprs(eqn))
        total += per_equation * own
        count += 1
        for sub in inner:
            cost, n, within = _cost(sub, value, turns, per_equation)
            total += own * cost * (_IN_LOOP if own > 1 else 1)
            count += n
            loops |= within
        if not inner:
            total += _elements(eqn, value)
        elif eqn.primitive.name in LOOPS:
            loops |= {eqn.primitive.name}
    return total, count, loops


def _no_faster(eqn: Any, value: Callable[[Any], int]) -> float:
    """Return the part of an equation's work in which XLA takes as long or longer: it hands that to
    LAPACK as well, or it is a product with one row. Of a sort it is more than all the work."""
    if of_one_row(eqn, value) is not None:
        return _elements(eqn, value)
    if _sorts_words(eqn):
        return _XLA_SORT * _elements(eqn, value)
    return _of_lapack(eqn, value)


def _sorts_words(eqn: Any) -> bool:
    """Return whether an equation is a sort that NumPy does on words of 64 bits."""
    return (
        eqn.primitive.name == "sort"
        and eqn.params["num_keys"] == 1
        and eqn.invars[0].aval.dtype in (np.float32, np.int32)
    )


def _of_lapack(eqn: Any, value: Callable[[Any], int]) -> float:
    """Return LAPACK's part of an equation's work, for all matrices of a batch."""
    name = eqn.primitive.name
    if name == "triangular_solve":
        triangle, known = (v.aval.shape for v in eqn.invars)
        return value(triangle[-1]) * math.prod(map(value, known))
    if name not in _LAPACK:
        return 0
    *batch, m, n = map(value, eqn.invars[0].aval.shape)
    return math.prod(batch) * _LAPACK[name](m, n, min(m, n))


def _turns(eqn: Any, value: Callable[[Any], int], of_while: int) -> int:
    name = eqn.primitive.name
    return value(eqn.params["length"]) if name == "scan" else of_while if name == "while" else 1


def _elements(eqn: Any, value: Callable[[Any], int]) -> float:
    """Return the work on the elements of an equation's arrays."""
    name = eqn.primitive.name

    def size(v: Any) -> int:
        return math.prod(map(value, v.aval.shape))

    out = sum(map(size, eqn.outvars))
    if eqn.outvars:
        dtype = eqn.outvars[0].aval.dtype
        if dtype.itemsize < 4 and name in _SLOW_IN_HALF:
            out *= 12
        elif name == "div" and dtype.kind in "iu":
            return 120 * out
    if name in _ELEMENT:
        return _ELEMENT[name] * out
    if name in _LAPACK or name == "triangular_solve":
        matrices = math.prod(map(value, eqn.invars[0].aval.shape[:-2]))
        return _PER_MATRIX * matrices + _of_lapack(eqn, value)
    if name == "dot_general":
        (summed, _), _ = eqn.params["dimension_numbers"]
        length = math.prod(value(eqn.invars[0].aval.shape[d]) for d in summed)
        # NumPy multiplies matrices of integers one number after the other.
        return out * (1 + (length if eqn.outvars[0].aval.dtype.kind in "iu" else length / 16))
    if name == "conv_general_dilated":
        layout, kernel = eqn.params["dimension_numbers"], [*map(value, eqn.invars[1].aval.shape)]
        taps = math.prod(kernel) / max(1, kernel[layout.rhs_spec[0]])
        # The column of a position is written once for all channels of the output.
        channels = max(1, value(eqn.outvars[0].aval.shape[layout.out_spec[1]]))
        return 3 * out * (1 + taps / channels * eqn.params["feature_group_count"] + taps / 16)
    if name.startswith(("reduce_window", "select_and")):
        return 3 * out * math.prod(map(value, eqn.params["window_dimensions"]))
    if name.startswith(("reduce", "arg")):
        return 2 * size(eqn.invars[0])
    if name.startswith("scatter"):
        return out + 20 * size(eqn.invars[2])
    if name == "gather":
        return 5 * out
    if name in ("sort", "top_k"):
        at = eqn.params.get("dimension", len(eqn.invars[0].aval.shape) - 1)
        return 15 * size(eqn.invars[0]) * math.log2(value(eqn.invars[0].aval.shape[at]) + 1)
    return out
