"""Control flow as ops: cond, while_loop, scan, associative_scan, map.

Eagerly they are Python: the branch that is taken, the loop's turns. In a captured graph they become
``lax.cond``, ``lax.while_loop`` and ``lax.scan`` (jit.control), with gradients; there the functions
must not write to what they did not make, nor change or tell anything in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchlike._core import dtypes, modes, overrides
from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._jit.capture.effects import Effects
from torchlike._jit.capture.scalars import is_device
from torchlike._jit.trace import loop_lowering
from torchlike._jit.trace.cond import choose, describe
from torchlike._jit.trace.subgraph import SubgraphLeaf
from torchlike._runtime.trees import flatten, unflatten
from torchlike.tensor import Tensor

_table = NAMESPACES[""]


# -- what is given ---------------------------------------------------------------------------------


def _tensors(tree: Any, what: str) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a tree. RuntimeError unless every leaf is a tensor."""
    leaves, structure = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"Expect {what} to be a tuple of possibly nested dict/list/tuple that only "
                f"consists of tensor leaves, but got {type(leaf).__name__}"
            )
    return leaves, structure


def _same_structure(a: Any, b: Any, what: str) -> None:
    if a != b:
        raise RuntimeError(f"{what} must have the same tree structure")


def _captured_tensors(fn: Any) -> Iterator[Tensor]:
    """Yield the tensors in a function's closure, parameters of modules among them."""
    owner = getattr(fn, "__self__", fn)
    cells = list(getattr(fn, "__closure__", None) or ())
    values = [owner]
    for cell in cells:
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue  # not bound yet
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif hasattr(value, "named_parameters"):
            yield from value.parameters()
            yield from value.buffers()


def _recording() -> Any:
    """Return the innermost mode of operators where it makes a graph (make_fx), else None."""
    running = overrides.state.dispatch_modes
    return running[-1] if running and getattr(running[-1], "makes_graph", False) else None


class _Unwritten:
    """Refuses functions that write in place to what they were given or closed over."""

    def __init__(self, what: str, functions: Any, leaves: Any) -> None:
        self._what = what
        held = [t for fn in functions for t in _captured_tensors(fn)]
        self._versions = [(t, t._version) for t in (*leaves, *held) if isinstance(t, Tensor)]

    def check(self) -> None:
        if any(t._version != version for t, version in self._versions):
            raise RuntimeError(
                f"{self._what}: a function writes in place to a tensor that it did not make "
                "(an input or a closure variable), which a compiled graph could not do; assign a "
                "new tensor instead (x = x + 1 for x.add_(1)) and return it"
            )


def _pure(fn: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Guard ``fn``, which in a captured graph is traced whether or how often it would be called:
    JitCaptureError where it changes something in Python, prints, warns or logs."""
    if not modes.is_capturing():
        return fn
    effects = Effects((), modes.the_capture().observer, (fn,))

    def run(*given: Any) -> Any:
        with effects.refused(what):
            return fn(*given)

    return run


# -- cond ------------------------------------------------------------------------------------------


@composite(method=False, overridable=False)
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """Call ``true_fn(*operands)`` if ``pred`` (a bool, or a tensor of one element), else
    ``false_fn``.

    In compiled code both functions become part of the graph; their results must then have one
    structure, and tensors one shape and dtype each. Gradients reach operands and whatever the
    functions close over.

    Differs from PyTorch: eagerly only the branch that is taken runs, so a branch that does not fit
    the other is noticed when the call is compiled; and what only the other branch uses gets no
    gradient, where PyTorch gives zeros.

    Raises:
      RuntimeError: for a predicate of more than one element, operands that are not tensors, a
        function that writes to a tensor it did not make, results that differ in shape or dtype.
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    leaves, _ = _tensors(operands, "operands")
    recording = _recording()
    if recording is not None and isinstance(pred, Tensor):
        return recording.cond(pred, true_fn, false_fn, operands)
    known = not isinstance(pred, Tensor) and not is_device(pred)
    if not modes.is_capturing() or known:
        unwritten = _Unwritten("torch.cond", (true_fn, false_fn), leaves)
        result = true_fn(*operands) if pred else false_fn(*operands)
        unwritten.check()
        return result

    def mismatch(part: int, i: int, a: Any, b: Any) -> None:
        if i < 0:
            raise RuntimeError(
                "torch.cond: true_fn and false_fn must return the same pytree structure"
            )
        raise RuntimeError(
            f"The results of true_fn and false_fn in torch.cond differ: result {i} is "
            f"{describe(a)} in true_fn and {describe(b)} in false_fn. Make them "
            "alike, with .to(dtype), expand or padding."
        )

    names = ["true_fn of torch.cond", "false_fn of torch.cond"]
    yes, no = _pure(true_fn, names[0]), _pure(false_fn, names[1])
    (result,) = choose(pred, [lambda: (yes(*operands),), lambda: (no(*operands),)], names, mismatch)
    return result


@composite(method=False, overridable=False)
def switch(index: Any, branches: Any, operands: Any = ()) -> Any:
    """Call ``branches[index](*operands)``; an index outside counts as the nearest inside.

    Args:
      index: an int, or a tensor of one element.
      branches: a tuple or list of functions, one at least. In compiled code all of them become part
        of the graph, as conditions in conditions; their results must then be alike, as of `cond`.
      operands: tensors in any nesting.

    Raises:
      RuntimeError: for another index, no branches or what is no function, operands that are not
        tensors, and what `cond` refuses.
    """
    if not isinstance(index, (int, Tensor)) or (isinstance(index, Tensor) and index.numel() != 1):
        raise RuntimeError(f"Expected index to be int or single-element tensor, but got {index}.")
    if not isinstance(branches, (tuple, list)) or not branches:
        raise RuntimeError("Expected branches to be a non-empty tuple or list of callables.")
    for i, branch in enumerate(branches):
        if not callable(branch):
            raise RuntimeError(f"Expected all branches to be callable. branch{i} is not callable.")
    for leaf in flatten(operands)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"All operand leaves must be a Tensor but got {leaf}")
    operands = tuple(operands)
    first, *others = branches
    if not others:
        return first(*operands)
    if len(others) == 1:
        return cond(index < 1, first, others[0], operands)
    return cond(index < 1, first, lambda *given: switch(index - 1, others, given), operands)


# -- while_loop ------------------------------------------------------------------------------------


def _carry_changed(what: str) -> Callable[..., None]:
    def mismatch(i: int, before: SubgraphLeaf, after: SubgraphLeaf) -> None:
        raise RuntimeError(
            f"{what}: the body must return its carried inputs as they came in: input {i} is "
            f"{before} before and {after} after a turn"
        )

    return mismatch


@composite(method=False, overridable=False)
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> tuple[Any, ...]:
    """Run ``while cond_fn(*carried): carried = body_fn(*carried)``, and return the last
    ``carried``.

    In compiled code this is one loop in the graph: the body must keep shapes and dtypes. Its
    gradient runs the loop once more and keeps 64 of its states (see jit.control).

    Raises:
      RuntimeError: for inputs that are no tuple or list of tensors and ints, a condition that is no
        boolean scalar, a body that changes structure, shape or dtype, or writes in place.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list but got {type(carried_inputs)}")
    leaves, structure = flatten(tuple(carried_inputs))
    for leaf in leaves:
        if not isinstance(leaf, (Tensor, int, float)):
            raise RuntimeError(
                "carried_inputs must only contain tensor, int, float or bool leaves, but got "
                f"{type(leaf).__name__}"
            )
    recording = _recording()
    if recording is not None:
        return recording.while_loop(cond_fn, body_fn, carried_inputs)
    if modes.is_capturing():
        return _captured_loop(cond_fn, body_fn, leaves, structure)
    unwritten = _Unwritten("torch.while_loop", (cond_fn, body_fn), leaves)
    carried = tuple(carried_inputs)
    mismatch = _carry_changed("torch.while_loop")
    before = [SubgraphLeaf(x) for x in leaves]
    while _truth(cond_fn(*carried)):
        carried = body_fn(*carried)
        if not isinstance(carried, (tuple, list)):
            raise RuntimeError(f"body_fn should return a tuple or list but got {type(carried)}")
        carried = tuple(carried)
        found, after = flatten(carried)
        _same_structure(structure, after, "The inputs and results of body_fn in torch.while_loop")
        for i, (a, x) in enumerate(zip(before, found, strict=True)):
            if not a.alike(SubgraphLeaf(x)):
                mismatch(i, a, SubgraphLeaf(x))
        unwritten.check()
    return carried


def _truth(x: Any) -> Any:
    """Return a loop's condition after a check. RuntimeError unless it is a bool or a boolean tensor
    of one element."""
    if isinstance(x, Tensor):
        if x.numel() != 1 or x.dtype is not dtypes.bool:
            raise RuntimeError(
                "cond_fn must return a boolean scalar tensor or a boolean but got a tensor of "
                f"shape {list(x.shape)} and dtype {x.dtype}"
            )
    elif not isinstance(x, bool):
        raise RuntimeError(
            f"cond_fn must return a boolean scalar tensor or a boolean but got {type(x)}"
        )
    return x


def _captured_loop(
    cond_fn: Any, body_fn: Any, leaves: list[Any], structure: Any
) -> tuple[Any, ...]:
    cond_fn = _pure(cond_fn, "cond_fn of torch.while_loop")
    body_fn = _pure(body_fn, "body_fn of torch.while_loop")

    def body(*values: Any) -> tuple[Any, ...]:
        carried = body_fn(*unflatten(structure, values))
        if not isinstance(carried, (tuple, list)):
            raise RuntimeError(f"body_fn should return a tuple or list but got {type(carried)}")
        found, after = flatten(tuple(carried))
        _same_structure(structure, after, "The inputs and results of body_fn in torch.while_loop")
        return found, None

    def test(*values: Any) -> tuple[Any, ...]:
        return [_truth(cond_fn(*unflatten(structure, values)))], None

    mismatch = _carry_changed("torch.while_loop")
    return unflatten(structure, loop_lowering.loop(test, body, leaves, mismatch))


# -- scan, map, associative_scan -------------------------------------------------------------------


def _rows(xs: Any, dim: int, what: str) -> tuple[list[Any], Any, int]:
    """Return the leaves of ``xs`` with ``dim`` first, the structure, and how many rows there
    are."""
    leaves, structure = _tensors(xs, "xs")
    if not leaves:
        raise RuntimeError(f"{what}() operator requires at least one xs leaf")
    for x in leaves:
        if not -x.dim() <= dim < x.dim():
            raise RuntimeError(f"{what}(): dim {dim} is out of range for xs of shape {x.shape}")
    moved = [x if dim == 0 else x.movedim(dim, 0) for x in leaves]
    lengths = {x.shape[0] for x in moved}
    if len(lengths) > 1 or 0 in lengths:
        raise RuntimeError(
            f"All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0, "
            f"of one size; got {sorted(lengths)}"
        )
    return moved, structure, lengths.pop()


def scan(
    combine_fn: Callable[..., Any],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
    length: int | None = None,
) -> tuple[Any, ...]:
    """Run ``carry, y = combine_fn(carry, x)`` over the rows of ``xs``, and return (last carry,
    stacked ys).

    Args:
      combine_fn: gives a carry like the one it is given, and any tensors.
      init: the first carry, tensors in any nesting.
      xs: tensors in any nesting, of one size along ``dim``.
      dim: what to scan over, counted in the first of xs; ys are stacked along it, too, those of
        fewer dimensions along 0.
      reverse: from the last row to the first.
      length: how many steps there are. With tensors in ``xs`` it must be their size; without,
        ``combine_fn`` is given None for x.

    Without a tensor in ``xs`` and without ``length`` there is nothing to do: it gives
    ``(init, [])``.

    Raises:
      RuntimeError: for inputs that are no tensors, a carry that changes shape or dtype or has no
        tensors, no rows, a length that is negative or not that of xs.
      NotImplementedError: for a length of 0 without xs, where nobody knows what the ys would be.
    """
    if not callable(combine_fn):
        raise RuntimeError("Combine_fn must be a callable, but got " + str(combine_fn))
    start, carry_structure = _tensors(init, "init")
    if not start:
        raise RuntimeError("scan() operator requires init leaves.")
    if length is not None and (type(length) is not int or length < 0):
        raise RuntimeError(f"scan() length must be a non-negative integer, got {length!r}")
    if xs is None or not _tensors(xs, "xs")[0]:
        if length is None:
            return init, []
        if length == 0:
            raise NotImplementedError("scan() of length 0 without xs: give xs, or skip the call")
        xs, dim = _table["zeros"](length, dtype=dtypes.int64), 0
        combine_fn = _given_none(combine_fn)
    rows, xs_structure, rows_given = _rows(xs, dim, "scan")
    if length is not None and length != rows_given:
        raise RuntimeError(
            f"scan() length={length} does not match xs size along dim={dim}: {rows_given}"
        )
    length = rows_given
    along = dim % rows[0].dim()
    mismatch = _carry_changed("scan")
    combine_fn = _pure(combine_fn, "combine_fn of scan")

    def step(*values: Any) -> tuple[list[Any], Any]:
        carry = unflatten(carry_structure, values[: len(start)])
        result = combine_fn(carry, unflatten(xs_structure, values[len(start) :]))
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError("combine_fn needs to produce a pair (next carry, output)")
        found, after = flatten(result[0])
        _same_structure(carry_structure, after, "The carry before and after combine_fn in scan")
        ys, ys_structure = _tensors(result[1], "the outputs of combine_fn")
        return [*found, *ys], ys_structure

    if modes.is_capturing():
        found, ys_structure = loop_lowering.scan(step, start, rows, reverse, length, mismatch)
        carry, ys = found[: len(start)], _along(found[len(start) :], along)
        return unflatten(carry_structure, carry), unflatten(ys_structure, ys)
    unwritten = _Unwritten("scan", (combine_fn,), (*start, *rows))
    carry, collected, ys_structure = list(start), [], None
    before = [SubgraphLeaf(x) for x in start]
    for i in reversed(range(length)) if reverse else range(length):
        found, ys_structure = step(*carry, *(x[i] for x in rows))
        carry = found[: len(start)]
        for k, (a, x) in enumerate(zip(before, carry, strict=True)):
            if not a.alike(SubgraphLeaf(x)):
                mismatch(k, a, SubgraphLeaf(x))
        collected.append(found[len(start) :])
        unwritten.check()
    if reverse:
        collected.reverse()
    ys = [_table["stack"](list(column)) for column in zip(*collected, strict=True)]
    return unflatten(carry_structure, carry), unflatten(ys_structure, _along(ys, along))


def _given_none(combine_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``combine_fn`` for a scan over rows that only count its steps."""
    return lambda carry, _: combine_fn(carry, None)


def _along(stacked: list[Any], dim: int) -> list[Any]:
    """Move the dimension along which tensors were stacked from 0 to ``dim``, where they have so
    many."""
    return [y.movedim(0, dim) if 0 < dim < y.dim() else y for y in stacked]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Tensor | None:
    """Call ``f(x, *args)`` for each row of ``xs``, and stack the results. Gradients reach xs and
    args. None where f gives None.

    Raises:
      RuntimeError: for xs that are no tensors, or have no rows.
    """
    rows, structure, length = _rows(xs, 0, "map")
    f = _pure(f, "the function of map")

    gives_nothing = False

    def step(*values: Any) -> tuple[list[Any], Any]:
        nonlocal gives_nothing
        result = f(unflatten(structure, values), *args)
        gives_nothing = result is None
        return _tensors(() if gives_nothing else result, "the results of f")

    if modes.is_capturing():
        found, after = loop_lowering.scan(step, [], rows, False, length, _carry_changed("map"))
        return None if gives_nothing else unflatten(after, found)
    unwritten = _Unwritten("map", (f,), (*rows, *flatten(list(args))[0]))
    results = [step(*(x[i] for x in rows)) for i in range(length)]
    unwritten.check()
    if gives_nothing:
        return None
    columns = zip(*(found for found, _ in results), strict=True)
    return unflatten(results[0][1], [_table["stack"](list(column)) for column in columns])


def associative_scan(
    combine_fn: Callable[..., Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Tensor:
    """Return all partial results of an associative ``combine_fn(a, b)`` along ``dim``.

    ``combine_mode="pointwise"``: combine_fn works element by element, so log2(n) calls of it on
    many rows at once do. ``"generic"``: it gets single rows, in a scan.

    Raises:
      RuntimeError: for xs that are no tensors, or a combine_fn that changes shape or dtype.
      ValueError: for another combine_mode.
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    rows, structure, length = _rows(xs, dim, "associative_scan")

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        result = combine_fn(unflatten(structure, a), unflatten(structure, b))
        found, after = flatten(result)
        _same_structure(structure, after, "The inputs and results of combine_fn")
        for i, (x, y) in enumerate(zip(b, found, strict=True)):
            if not SubgraphLeaf(x).alike(SubgraphLeaf(y)):
                _carry_changed("associative_scan")(i, SubgraphLeaf(x), SubgraphLeaf(y))
        return found

    if length == 1:
        found = [x.clone() for x in rows]
    elif combine_mode == "generic":
        found = _in_order(combine, rows, length, reverse)
    else:
        flipped = [x.flip(0) for x in rows] if reverse else rows
        found = _by_halves(combine, flipped)
        found = [x.flip(0) for x in found] if reverse else found
    return unflatten(structure, [x if dim == 0 else x.movedim(0, dim) for x in found])


def _in_order(combine: Any, rows: list[Any], length: int, reverse: bool) -> list[Any]:
    first = [x[-1] if reverse else x[0] for x in rows]
    rest = [x[:-1] if reverse else x[1:] for x in rows]

    def step(carry: Any, x: Any) -> tuple[Any, ...]:
        found = combine(carry, x)
        return found, [y.clone() for y in found]

    _, ys = scan(step, first, rest, reverse=reverse)
    ends = [x.unsqueeze(0) for x in first]
    pairs = zip(ys, ends, strict=True)
    return [_table["cat"]([y, e] if reverse else [e, y]) for y, e in pairs]


def _by_halves(combine: Any, rows: list[Any]) -> list[Any]:
    """Scan by Blelloch's recursion: combine neighbours, scan those, fill in the rest."""
    n = rows[0].shape[0]
    if n < 2:
        return rows
    pairs = combine([x[0 : n - 1 : 2] for x in rows], [x[1:n:2] for x in rows])
    odd = _by_halves(combine, pairs)
    before = odd if n % 2 else [x[:-1] for x in odd]
    even = combine(before, [x[2:n:2] for x in rows]) if n > 2 else []
    results = []
    for i, x in enumerate(rows):
        evens = _table["cat"]([x[:1], even[i]]) if n > 2 else x[:1]
        odds = odd[i]
        m = odds.shape[0]
        woven = _table["stack"]([evens[:m], odds], 1).reshape(2 * m, *x.shape[1:])
        results.append(_table["cat"]([woven, evens[m:]]) if n % 2 else woven)
    return results
