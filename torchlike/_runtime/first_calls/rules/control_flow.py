"""Calls, conditionals and loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import Equation, NoNumpyRule, TooLong, rule

#: Turns of a loop whose number is a value. They are counted, not timed: runs repeat.
_MOST_TURNS = 10_000


class _Turns(threading.local):
    """How many turns of such loops NumPy has made in this thread."""

    made = 0


turns = _Turns()


@rule("cond")
def _cond(eqn: Equation) -> Callable[..., Any]:
    branches = [eqn.evaluator(branch) for branch in eqn.params["branches"]]
    last = len(branches) - 1
    return lambda index, *operands: branches[min(max(int(index), 0), last)](*operands)


@rule("while")
def _while(eqn: Equation) -> Callable[..., Any]:
    condition, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    if condition.out_avals[0].shape:
        raise NoNumpyRule("a loop over a batch")
    goes_on, turn = eqn.evaluator(condition), eqn.evaluator(body)
    first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]

    def loop(*operands: Any) -> list[Any]:
        of_condition, of_body = operands[:first], operands[first : first + second]
        carry = list(operands[first + second :])
        for k in range(_MOST_TURNS):
            if not goes_on(*of_condition, *carry)[0]:
                turns.made += k
                return carry
            carry = turn(*of_body, *carry)
        raise TooLong(f"a loop of more than {_MOST_TURNS} turns")

    return loop


@rule("scan")
def _scan(eqn: Equation) -> Callable[..., Any]:
    body, length = eqn.params["jaxpr"], eqn.params["length"]
    turn = eqn.evaluator(body)
    # Versions of JAX say otherwise how many there are. Rows have a dimension more outside.
    n_rows = _with_rows(eqn.operands, body.jaxpr.invars)
    n_carry = len(eqn.results) - _with_rows(eqn.results, body.jaxpr.outvars)
    n_consts = len(eqn.operands) - n_carry - n_rows
    steps = range(length - 1, -1, -1) if eqn.params["reverse"] else range(length)
    rows = eqn.results[n_carry:]

    def loop(*operands: Any) -> list[Any]:
        consts, carry = operands[:n_consts], list(operands[n_consts : n_consts + n_carry])
        given = operands[n_consts + n_carry :]
        made = [np.empty(aval.shape, aval.dtype) for aval in rows]
        for t in steps:
            results = turn(*consts, *carry, *[x[t] for x in given])
            carry = results[:n_carry]
            for array, row in zip(made, results[n_carry:], strict=True):
                array[t] = row
        return [*carry, *made]

    return loop


def _with_rows(outside: list[Any], inside: list[Any]) -> int:
    """Count the values that have a dimension more than in the body."""
    pairs = zip(outside, inside, strict=True)
    return sum(len(aval.shape) > len(v.aval.shape) for aval, v in pairs)


@rule("platform_index")
def _platform_index(eqn: Equation) -> Callable[..., Any]:
    for k, names in enumerate(eqn.params["platforms"]):
        if names is None or "cpu" in names:
            index = np.asarray(k, np.int32)
            return lambda *_: index
    raise NoNumpyRule("platform_index without the CPU")


@rule("custom_linear_solve")
def _custom_linear_solve(eqn: Equation) -> Callable[..., Any]:
    n_constants = eqn.params["const_lengths"]
    solve = eqn.evaluator(eqn.params["jaxprs"].solve)
    first = n_constants.matvec + n_constants.vecmat
    behind = first + n_constants.solve + n_constants.transpose_solve

    def solution(*operands: Any) -> list[Any]:
        return solve(*operands[first : first + n_constants.solve], *operands[behind:])

    return solution
