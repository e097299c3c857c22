"""Turns the checks of values in a traced program into a word that it returns, and keeps its state.

A trace holds `value_check` equations, in branches and loops too. Here each becomes arithmetic on
numbers that the program carries along: which check failed first, as its number, and what its error
says beside. They are one more output, the *word*; branches and loops hand theirs out. A check that
depends on the cotangents belongs to the backward, which has a word of its own.

Where a check fails, state stays what it was: each ``kept`` equation becomes a choice between the
new and the old value. What reads the new value within the program reads the choice. Otherwise XLA's
CPU compiler computes the old value's successor twice, in loops of its own, and copies the donated
memory first: Adam on 8 million parameters takes 14.4 ms for 9.5, and 9.6 in this form (80.5, 150.6
and 73.7 where the gradient is computed in the same loop).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax
from jax.sharding import Mesh, PartitionSpec

from torchlike._jit.program import donation as partial_writes
from torchlike._runtime import logs, value_check
from torchlike._runtime.jax_private.equations import (
    CALLS,
    CHECKPOINTS,
    CUSTOM,
    loop_of,
    program_of_call,
    while_parts,
)
from torchlike._runtime.jax_private.jaxprs import close, is_literal, with_more
from torchlike._runtime.mixed_operands import spans_processes
from torchlike._runtime.rolling.writing import Writer, renamed, with_operands
from torchlike._runtime.value_check import DETAILS, Site, has_checks

log = logs.logger("checks")

#: The number of the check that failed first, from 1 on, or 0; and its details.
State = Sequence[Any]
Agreement = Callable[[Sequence[Any]], Any]


class Agreements(NamedTuple):
    """What makes one word of all ranks' of the words of checks, in the forward and in the backward;
    None where ranks need not agree."""

    forward: Agreement | None = None
    backward: Agreement | None = None


_NO_RANKS = Agreements()


class Checked(NamedTuple):
    """A program with words among its outputs.

    Attributes:
      n_forward: how many outputs the forward has, the word included, which is the last.
      sites: what the words' numbers stand for; empty where there is no check.
      has_word: whether the forward and the backward have words.
    """

    closed: Any
    n_forward: int
    sites: list[Site]
    has_word: bool
    has_backward_word: bool


def checked(
    closed: Any,
    n_forward: int,
    cotangents: frozenset[Any],
    agreed: Agreements = _NO_RANKS,
) -> Checked:
    """Return a traced program, its first ``n_forward`` outputs those of the forward, with words.

    ``agreed`` has functions of the traced words of the checks in their order, which give the one
    word of all ranks that run the program.
    """
    if not has_checks(closed.jaxpr):
        return Checked(closed, n_forward, [], False, False)
    rewriting = _Rewriting(closed, [], cotangents, agreed)
    eqns, early, late = rewriting.run()
    outvars = list(closed.jaxpr.outvars)
    atoms = rewriting.names
    outvars = [renamed(v, atoms) for v in outvars]
    if early is not None:
        eqns, word = _stacked(rewriting.writer, eqns, early)
        outvars.insert(n_forward, word)
    if late is not None:
        eqns, word = _stacked(rewriting.writer, eqns, late)
        outvars.append(word)
    return Checked(
        rewriting.closed(eqns, outvars),
        n_forward + (early is not None),
        rewriting.sites,
        early is not None,
        late is not None,
    )


def _operands_of_checks(closed: Any, cotangents: frozenset[Any], is_late: bool) -> set[Any]:
    """Return the constants of a traced program that the checks of its forward depend on, or of its
    backward."""
    rewriting = _Rewriting(closed, [], cotangents)
    eqns = rewriting.in_order()[is_late]
    needed: set[Any] = set()
    for eqn in reversed(eqns):
        is_check = not is_late or (has_checks(eqn) and rewriting.is_late(eqn))
        if is_check or not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if not is_literal(v))
    return needed.intersection(closed.jaxpr.constvars)


def _stacked(writer: Writer, eqns: list[Any], state: State) -> tuple[list[Any], Any]:
    more, (word,) = writer.equations(lambda *numbers: jnp.stack(numbers), list(state))
    return [*eqns, *more], word


class _Rewriting:
    """Rewrites the equations of one jaxpr, its checks written out."""

    def __init__(
        self,
        closed: Any,
        sites: list[Site],
        cotangents: frozenset[Any] = frozenset(),
        agreed: Agreements = _NO_RANKS,
    ) -> None:
        self._closed = closed
        self._agreed = agreed
        self.sites = sites
        self.writer = Writer()
        #: Variables, and what is read in their place.
        self.names: dict[Any, Any] = {}
        #: What depends on the cotangents.
        self._late = set(cotangents)
        self._eqns: list[Any] = []
        self._states: dict[bool, State | None] = {False: None, True: None}
        #: Of ranks that agree the word of each check: one may be of a value that all share, another
        #: of a rank's own.
        self._words: dict[bool, list[Any]] = {False: [], True: []}

    def run(self) -> tuple[list[Any], State | None, State | None]:
        """Return the equations, and the states of forward's and backward's checks, as atoms."""
        first, rest = self.in_order()
        for eqn in first:
            self._add(eqn)
        early = self._agree(False)
        if early is not None:
            self._keep(first, rest, early)
        else:
            for eqn in rest:
                if eqn.primitive is value_check.kept:
                    self.names[eqn.outvars[0]] = renamed(eqn.invars[0], self.names)
                else:
                    self._add(eqn)
        return self._eqns, early, self._agree(True)

    def _agree(self, is_late: bool) -> State | None:
        """Return the state of forward's or backward's checks, the one of all ranks where they
        agree."""
        agreed, words = self._agreed[is_late], self._words[is_late]
        if agreed is None or not words:
            return self._states[is_late]
        more, state = self.writer.equations(lambda *words: list(agreed(words)), words)
        self._eqns += more
        return state

    def _keep(self, first: Sequence[Any], rest: Sequence[Any], state: State) -> None:
        """Add the equations behind the checks; where ``state`` says that one has failed, what is
        kept stays what it was."""
        marked = [eqn for eqn in rest if eqn.primitive is value_check.kept]
        rest = partial_writes.taken_apart(rest, marked)
        makers = {v: eqn for eqn in rest for v in eqn.outvars}
        waiting: dict[Any, list[Any]] = {}
        writers: set[int] = set()
        by_parts: set[int] = set()
        for eqn in marked:
            parts = partial_writes.writers(eqn, makers)
            if parts is not None:
                writers.update(map(id, parts))
                by_parts.add(id(eqn))
            elif not is_literal(eqn.invars[0]):
                waiting.setdefault(eqn.invars[0], []).append(eqn)

        def choose(made: Sequence[Any]) -> None:
            for new in made:
                if new in waiting:
                    self._choose(waiting.pop(new), state)

        for eqn in first:
            choose(eqn.outvars)
        for eqn in rest:
            if id(eqn) in writers:
                self._write(eqn, state)
            elif eqn.primitive is not value_check.kept:
                self._add(eqn)
                choose(eqn.outvars)
            elif id(eqn) in by_parts:
                self.names[eqn.outvars[0]] = renamed(eqn.invars[0], self.names)
            elif eqn.outvars[0] not in self.names:  # a number, or what was there before
                self._choose([eqn], state, is_made=False)

    def _write(self, eqn: Any, state: State) -> None:
        """Add an equation that writes a part, and nothing where a check has failed."""
        write = partial_writes.undone(eqn)
        operands = [renamed(v, self.names) for v in eqn.invars]
        more, (found,) = self.writer.equations(
            lambda code, *operands: write(code == 0, *operands), [state[0], *operands]
        )
        self._eqns += more
        self.names[eqn.outvars[0]] = found

    def in_order(self) -> tuple[list[Any], list[Any]]:
        """Return the checks that no cotangent reaches, with all that they are computed from; and
        the other equations."""
        eqns = self._closed.jaxpr.eqns
        for eqn in eqns:
            if any(not is_literal(v) and v in self._late for v in eqn.invars):
                self._late.update(eqn.outvars)
        needed: set[Any] = set()
        first: list[Any] = []
        rest: list[Any] = []
        for eqn in reversed(eqns):
            is_check = has_checks(eqn) and not self.is_late(eqn)
            if is_check or not needed.isdisjoint(eqn.outvars):
                needed.update(v for v in eqn.invars if not is_literal(v))
                first.append(eqn)
            else:
                rest.append(eqn)
        return first[::-1], rest[::-1]

    def is_late(self, eqn: Any) -> bool:
        return any(not is_literal(v) and v in self._late for v in eqn.invars)

    def closed(self, eqns: Sequence[Any], outvars: Sequence[Any]) -> Any:
        """Return the jaxpr with these equations and outputs."""
        given = self._closed.jaxpr
        constants = self.writer.constants
        effects = {e for e in given.effects if type(e) is not value_check.ValueCheck}
        variables = [v for v, _ in constants]
        whole = with_more(given, variables, outvars, eqns, effects)
        return close(whole, [*self._closed.consts, *(c for _, c in constants)])

    def _add(self, eqn: Any) -> None:
        is_late = self.is_late(eqn)
        eqn = with_operands(eqn, self.names)
        if eqn.primitive is value_check.check:
            failed, *details = eqn.invars
            code = self._code(eqn.params["site"])
            self._join(lambda f, *d: (lax.select(f, code, _ZERO), *d), [failed, *details], is_late)
        elif has_checks(eqn):
            rebuilt = _rebuilding(eqn, self.sites)
            if rebuilt is None:
                log.warning("checks of values inside %s are not looked at", eqn.primitive)
                self._eqns.append(eqn)
                return
            more, found = self.writer.equations(rebuilt, eqn.invars)
            self._eqns += more
            n = len(eqn.outvars)
            self.names.update(zip(eqn.outvars, found[:n], strict=True))
            self._join(lambda *state: state, found[n:], is_late)
        else:
            self._eqns.append(eqn)

    def _code(self, site: Site) -> Any:
        if site not in self.sites:
            self.sites.append(site)
        return np.int64(self.sites.index(site) + 1)

    def _join(self, state_of: Any, operands: Sequence[Any], is_late: bool) -> None:
        """Take the state of one more check into account."""
        before = self._states[is_late]
        if self._agreed[is_late] is not None:
            more, words = self.writer.equations(
                lambda *given: [jnp.stack(state_of(*given))], list(operands)
            )
            self._words[is_late] += words
        elif before is None:
            more, self._states[is_late] = self.writer.equations(state_of, list(operands))
        else:
            n = len(before)
            more, self._states[is_late] = self.writer.equations(
                lambda *given: _first_of(given[:n], state_of(*given[n:])), [*before, *operands]
            )
        self._eqns += more

    def _choose(self, eqns: Sequence[Any], state: State, is_made: bool = True) -> None:
        """Add the choice of the old value where a check has failed: for ``kept`` equations of one
        new value, which (``is_made``) an equation has just made."""
        for eqn in eqns:
            new, old = eqn.invars
            operands = [state[0], renamed(new, self.names), old]
            more, (found,) = self.writer.equations(_chosen, operands)
            self._eqns += more
            self.names[eqn.outvars[0]] = found
        if is_made and len(eqns) == 1:
            self.names[eqns[0].invars[0]] = self.names[eqns[0].outvars[0]]


_ZERO = np.int64(0)


def _chosen(code: Any, new: Any, old: Any) -> Any:
    return lax.select(code == 0, new, old)


def _first_of(a: State, b: State) -> list[Any]:
    """Return the state after two checks."""
    is_due = a[0] == 0
    return [lax.select(is_due, y, x) for x, y in zip(a, b, strict=True)]


def _nothing() -> list[Any]:
    return [jnp.int64(0)] * (1 + DETAILS)


# -- branches and loops ----------------------------------------------------------------------------


def _with_state(jaxpr: Any, sites: list[Site]) -> Any:
    """Return a jaxpr as a function that gives its results, and the state of its checks."""
    closed = jaxpr if hasattr(jaxpr, "consts") else close(jaxpr, ())
    rewriting = _Rewriting(closed, sites)
    eqns, state, _ = rewriting.run()
    outvars = [renamed(v, rewriting.names) for v in closed.jaxpr.outvars]
    whole = rewriting.closed(eqns, [*outvars, *(state or ())])

    def run(*operands: Any) -> tuple[list[Any], list[Any]]:
        found = core.eval_jaxpr(whole.jaxpr, whole.consts, *operands)
        n = len(outvars)
        return found[:n], found[n:] or _nothing()

    return run


def _rebuilding(eqn: Any, sites: list[Site]) -> Any:
    """Return what computes the results of an equation that calls jaxprs with checks, and their
    state; None for an equation that nobody here knows."""
    name = eqn.primitive.name
    if name in CALLS and name not in CUSTOM:
        make = _region if name in CHECKPOINTS else _call
    else:
        make = {"cond": _cond, "while": _while, "scan": _scan}.get(name)
    return None if make is None else make(eqn.params, sites, eqn)


def _cond(params: Any, sites: list[Site], eqn: Any) -> Any:
    branches = [_with_state(branch, sites) for branch in params["branches"]]

    def run(index: Any, *operands: Any) -> list[Any]:
        found, state = lax.switch(index.astype(np.int32), branches, *operands)
        return [*found, *state]

    return run


def _while(params: Any, sites: list[Site], eqn: Any) -> Any:
    """Rebuild a loop, which ends where a check fails: it might never end otherwise."""
    parts = while_parts(eqn)
    test, body = _with_state(parts.test, sites), _with_state(parts.body, sites)
    n, m = parts.n_test, parts.n_body
    tests = has_checks(parts.test.jaxpr)

    def run(*operands: Any) -> list[Any]:
        of_test, of_body, start = operands[:n], operands[n : n + m], operands[n + m :]

        def goes_on(carry: Any) -> Any:
            values, state = carry
            return test(*of_test, *values)[0][0] & (state[0] == 0)

        def turn(carry: Any) -> Any:
            values, state = carry
            if tests:
                state = _first_of(state, test(*of_test, *values)[1])
            after, found = body(*of_body, *values)
            return after, _first_of(state, found)

        values, state = lax.while_loop(goes_on, turn, (list(start), _nothing()))
        if tests:
            state = _first_of(state, test(*of_test, *values)[1])
        return [*values, *state]

    return run


def _scan(params: Any, sites: list[Site], eqn: Any) -> Any:
    body = _with_state(params["jaxpr"], sites)
    n, n_carried = loop_of(eqn)

    def run(*operands: Any) -> list[Any]:
        constants, start, rows = (
            operands[:n],
            operands[n : n + n_carried],
            operands[n + n_carried :],
        )

        def turn(carry: Any, row: Any) -> Any:
            values, state = carry
            found, of_turn = body(*constants, *values, *row)
            after = list(found[:n_carried]), _first_of(state, of_turn)
            return after, found[n_carried:]

        (values, state), made = lax.scan(
            turn,
            (list(start), _nothing()),
            list(rows),
            length=params["length"],
            reverse=params["reverse"],
            unroll=params["unroll"],
        )
        return [*values, *made, *state]

    return run


def _call(params: Any, sites: list[Site], eqn: Any) -> Any:
    inner = _with_state(program_of_call(eqn), sites)

    def run(*operands: Any) -> list[Any]:
        found, state = inner(*operands)
        return [*found, *state]

    return run


def _region(params: Any, sites: list[Site], eqn: Any) -> Any:
    run = _call(params, sites, eqn)
    return jax.checkpoint(run, prevent_cse=params["prevent_cse"], policy=params["policy"])


# -------------------------------------------------------------------------------------------------
# How ranks agree that a check of values has failed which one of them alone has seen fail.


def agreement(closed: Any, cotangents: frozenset[Any], ranks: Any) -> Agreements:
    """Return what makes one word of those of all ranks that run a traced program; nothing where
    there is one rank, or where all have the same values.

    ``ranks`` are those of its collectives. A program without has one word too if DTensors are in
    it and a check is of something else, which each process has its own of.
    """
    if ranks is not None:
        of_all = ranks.agreement(closed.jaxpr.eqns)
        return Agreements(of_all, of_all)
    if jax.process_count() == 1 or not value_check.has_checks(closed.jaxpr):
        return _NO_RANKS
    given = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    shared = {v: x for v, x in given.items() if spans_processes(x)}
    if not shared:
        return _NO_RANKS
    of_all = functools.partial(_of_all, next(iter(shared.values())).sharding.mesh)
    read = (_operands_of_checks(closed, cotangents, is_late) for is_late in (False, True))
    return Agreements(*(None if shared.keys() >= constants else of_all for constants in read))


def _of_all(mesh: Mesh, words: Sequence[Any]) -> Any:
    """Return the first word of any process that says something. To XLA they are one that all have;
    within a manual region each has the word that it computed."""
    rows = jax.shard_map(
        lambda word: lax.all_gather(word, tuple(mesh.axis_names)),
        mesh=mesh,
        in_specs=PartitionSpec(),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(value_check.first_word(jnp.stack(words)))
    return value_check.first_word(rows)
