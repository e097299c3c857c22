"""Traces two functions in a captured graph, of whose results lax.cond picks one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.capture.scalars import Number
from torchlike._jit.control_flow import cond_lowering
from torchlike._jit.control_flow.subgraph import Leaf, Subgraph
from torchlike._jit.guards.values import same
from torchlike._runtime.trees import flatten, unflatten
from torchlike._runtime.value_check import has_checks
from torchlike.tensor import Tensor

#: ``mismatch(part, leaf, a, b)`` raises; leaf -1 for parts of different structure.
Mismatch = Callable[[int, int, Any, Any], None]


class _Absent:
    """The mark of a name without value."""

    def __repr__(self) -> str:
        return "a name without value"


#: A part that one function gives and the other does not is this in the result.
ABSENT = _Absent()


def is_value(x: Any) -> bool:
    """Return whether something can be an output of a subgraph: a tensor or a number."""
    return isinstance(x, Tensor) or type(x) is Number or type(x) in (int, float, bool)


def choose(
    test: Any,
    functions: Sequence[Callable[[], tuple[Any, ...]]],
    names: Sequence[str],
    mismatch: Mismatch,
    filled: Sequence[int] = (),
) -> tuple[Any, ...]:
    """Return the parts that the first function returns where ``test`` holds, else the second's.

    Parts are matched leaf by leaf: the same object stays that object, equal plain values stay
    plain, tensors of one shape and dtype (and numbers of one class) are picked by the graph. A part
    that only one function gives is ABSENT, or (``filled``) zeros where the other is taken.
    """

    def traced(fn: Callable[[], tuple[Any, ...]], name: str) -> Subgraph:
        def body() -> Any:
            parts = [flatten(part) for part in fn()]
            return [x for leaves, _ in parts for x in leaves if is_value(x)], parts

        return Subgraph(body, [], [], name)

    subgraphs = [traced(fn, name) for fn, name in zip(functions, names, strict=True)]
    outputs: list[tuple[int, int]] = []
    results: list[Any] = []
    at = [0, 0]
    for k, ((a_leaves, a_structure), (b_leaves, b_structure)) in enumerate(
        zip(subgraphs[0].aux, subgraphs[1].aux, strict=True)
    ):
        first = list(at)
        at[0] += sum(map(is_value, a_leaves))
        at[1] += sum(map(is_value, b_leaves))
        absent = [len(x) == 1 and x[0] is ABSENT for x in (a_leaves, b_leaves)]
        if any(absent):
            if k not in filled or all(absent):
                results.append((None, [ABSENT]))
                continue
            given = absent.index(False)
            leaves = []
            for x in (a_leaves, b_leaves)[given]:
                leaves.append((is_value(x), len(outputs) if is_value(x) else x))
                if is_value(x):
                    outputs.append((first[0], -1) if given == 0 else (-1, first[1]))
                    first[given] += 1
            results.append(((a_structure, b_structure)[given], leaves))
            continue
        if a_structure != b_structure:
            mismatch(k, -1, unflatten(a_structure, a_leaves), unflatten(b_structure, b_leaves))
        leaves = []
        for i, (a, b) in enumerate(zip(a_leaves, b_leaves, strict=True)):
            here = first[0], first[1]
            first = [first[0] + is_value(a), first[1] + is_value(b)]
            if a is b or same(a, b):
                leaves.append((False, a))
            elif (
                is_value(a)
                and is_value(b)
                and subgraphs[0].outputs[here[0]].alike(subgraphs[1].outputs[here[1]])
            ):
                leaves.append((True, len(outputs)))
                outputs.append(here)
            else:
                mismatch(k, i, a, b)
        results.append((a_structure, leaves))
    for subgraph in subgraphs:
        subgraph.aux = None  # the tape will hold the subgraphs: not the user's tensors as well
    picked: list[Any] = []
    if outputs or any(has_checks(subgraph.forward) for subgraph in subgraphs):
        picked = cond_lowering.select(test, subgraphs, outputs)
    return tuple(
        ABSENT
        if leaves == [ABSENT]
        else unflatten(structure, [picked[x] if is_picked else x for is_picked, x in leaves])
        for structure, leaves in results
    )


def describe(x: Any) -> str:
    """Describe a value of a branch in a few words."""
    if is_value(x):
        return str(Leaf(x))
    return f"{x!r}" if x is None or isinstance(x, str) else f"a {type(x).__name__}"
