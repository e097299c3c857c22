"""A captured program as a list of steps, each with whose values it computes, cut into regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._runtime.jax_private.equations import called, interpret, subjaxprs
from torchlike.distributed.captured import speaks_of_ranks
from torchlike.distributed.equations import Axes, evaluator, is_place, over_axes
from torchlike.distributed.mixed_operands import mixed
from torchlike.distributed.transfers import Side, side_of, transfer_p

_WHOLE = PartitionSpec()


class Value:
    """A variable of the program. ``own``: the axes along which each process has another value; None
    where it depends on no input, and is the same for everybody. ``is_drawn``: it follows from
    random numbers alone, which may stand beside anything."""

    __slots__ = ("aval", "is_drawn", "own")

    def __init__(self, aval: Any, own: tuple[str, ...] | None, is_drawn: bool = False) -> None:
        self.aval, self.own, self.is_drawn = aval, own, is_drawn

    def fits(self, own: tuple[str, ...]) -> bool:
        """Return whether the value may stand beside values of which each process has another along
        ``own``: one number, and one that was drawn, is taken for the same in all."""
        if self.own is None or self.own == own:
            return True
        return len(self.own) > len(own) and (self.is_drawn or self.aval.size == 1)


class FlatStep:
    """An equation, its operands (values, or numbers written into the program) and results."""

    __slots__ = ("_evaluate", "in_sides", "operands", "out_sides", "own", "results")

    def __init__(
        self,
        evaluate: Any,
        own: tuple[str, ...],
        operands: Sequence[Any],
        results: Sequence[Value],
        in_sides: Sequence[Side],
        out_sides: Sequence[Side],
    ) -> None:
        #: In which kind of region it runs.
        self.own = own
        self.operands, self.results = operands, results
        #: How operands are read and results are left, there.
        self.in_sides, self.out_sides = in_sides, out_sides
        self._evaluate = evaluate

    def evaluate(self, args: Sequence[Any]) -> Sequence[Any]:
        """Compute the results of operands as the region has them."""
        return self._evaluate(*args)

    def can_follow(self, done: set[Value], here: set[Value]) -> bool:
        """Return whether the step's operands are there: ``done`` by earlier regions, or computed
        ``here``, where they can be read only as what they are."""
        return all(
            not isinstance(x, Value) or x in done or (x in here and x.own == side.own == self.own)
            for x, side in zip(self.operands, self.in_sides, strict=True)
        )


class Flat:
    """The steps of a program on a mesh, with calls of other programs resolved where need be.

    RuntimeError for an own value of several elements beside a shared one, NotImplementedError for
    collectives within loops.
    """

    def __init__(self, mesh: Mesh, axes: Axes) -> None:
        self._mesh = mesh
        #: Along which axes of the mesh the collectives of the ranks are.
        self._axes = axes
        self._all = tuple(mesh.axis_names)
        self.inputs: list[Value] = []
        self.steps: list[FlatStep] = []
        #: Whether the processes have met in the program, up to here.
        self._met = False

    def add(self, program: Any, constants: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Add the steps of a jaxpr; its results."""
        return interpret(program, constants, operands, self._add)

    def _add(self, eqn: Any, operands: list[Any]) -> Sequence[Any]:
        if eqn.primitive is transfer_p:
            return self._transfer(eqn, operands)
        name = eqn.primitive.name
        if name == "sharding_constraint" and isinstance(eqn.params["sharding"], NamedSharding):
            return self._constraint(eqn, operands)
        if name == "optimization_barrier":
            return self._barrier(eqn, operands)
        if speaks_of_ranks(eqn):
            return self._step(over_axes(eqn, self._axes), self._all, operands, eqn.outvars)
        own = self._common(operands)
        inner = called(eqn)
        if inner is not None and (own is _DIFFERENT or _is_special(inner[0])):
            return self.add(*inner, operands)
        if own is _DIFFERENT:
            raise mixed(name)
        if any(map(_is_special, subjaxprs(eqn))):
            raise NotImplementedError(
                f"a compiled step with DTensors or collectives inside of {name}: use Python's loop "
                "around the compiled function"
            )
        return self._step(evaluator(eqn.primitive, eqn.params), own, operands, eqn.outvars)

    def _common(self, operands: Sequence[Any]) -> Any:
        """Return which processes' values an equation on such operands computes: those that most
        processes share; `_DIFFERENT` where others are not one number each, which is taken for the
        same in all."""
        known = [x for x in operands if isinstance(x, Value) and x.own is not None]
        if not known:
            return None
        own = min((x.own for x in known if x.own is not None), key=len)
        return own if all(x.fits(own) for x in known) else _DIFFERENT

    def _step(
        self,
        evaluate: Any,
        own: tuple[str, ...] | None,
        operands: Sequence[Any],
        outvars: Sequence[Any],
    ) -> list[Value]:
        known = [x for x in operands if isinstance(x, Value) and x.own is not None]
        is_drawn = bool(known) and all(x.is_drawn for x in known)
        results = [Value(v.aval, own, is_drawn) for v in outvars]
        in_sides = [self._native(x, own or ()) for x in operands]
        out_sides = [Side(own or (), _WHOLE, ()) for _ in outvars]
        self.steps.append(FlatStep(evaluate, own or (), operands, results, in_sides, out_sides))
        return results

    def _native(self, x: Any, own: tuple[str, ...]) -> Side:
        """Return how an operand is read in a region of ``own`` values."""
        if isinstance(x, Value) and x.own is None:
            return Side((), _WHOLE, ())
        return Side(own, _WHOLE, ())

    def _transfer(self, eqn: Any, operands: Sequence[Any]) -> list[Value]:
        p, met = eqn.params, self._met
        self._met = met or p["gathers"]
        in_sides = []
        for x, side in zip(operands, p["in_sides"], strict=True):
            if side is None:
                in_sides.append(self._native(x, getattr(x, "own", None) or ()))
                continue
            if isinstance(x, Value) and not x.fits(side.own):
                raise mixed(p["name"])
            is_own = isinstance(x, Value) and x.own is not None
            in_sides.append(side._replace(shape=()) if is_own else Side((), side.spec, ()))
        results = [Value(v.aval, s.own) for v, s in zip(eqn.outvars, p["out_sides"], strict=True)]
        out_sides = [s._replace(shape=()) for s in p["out_sides"]]

        def evaluate(*args: Any) -> Sequence[Any]:
            return p["body"](*args, met=met)

        self.steps.append(FlatStep(evaluate, self._all, operands, results, in_sides, out_sides))
        return results

    def _constraint(self, eqn: Any, operands: Sequence[Any]) -> list[Value]:
        (x,) = operands
        mesh, side = side_of(eqn.params["sharding"], ())
        if mesh != self._mesh:
            raise NotImplementedError(
                "a compiled step with DTensors of two meshes: use slices of one mesh (mesh['tp'])"
            )
        if isinstance(x, Value) and not x.fits(side.own):
            raise mixed("redistribute")

        def evaluate(x: Any) -> Sequence[Any]:
            if side.own == self._all:
                return (x,)
            if side.own:  # in a region that is manual along them, whose mesh is the context's
                return (lax.with_sharding_constraint(x, side.spec),)
            return (lax.with_sharding_constraint(x, NamedSharding(mesh, side.spec)),)

        return self._step(evaluate, side.own, operands, eqn.outvars)

    def _barrier(self, eqn: Any, operands: Sequence[Any]) -> list[Any]:
        """Add one barrier for the operands of each kind, and return its results."""
        found: list[Any] = list(operands)
        kinds: dict[Any, list[int]] = {}
        for i, x in enumerate(operands):
            if isinstance(x, Value):
                kinds.setdefault((x.own, x.is_drawn), []).append(i)
        for (own, _), places in kinds.items():
            results = self._step(
                lambda *args: lax.optimization_barrier(args),
                own,
                [operands[i] for i in places],
                [eqn.outvars[i] for i in places],
            )
            for i, result in zip(places, results, strict=True):
                found[i] = result
        return found


_DIFFERENT = ("different",)


def _is_special(program: Any) -> bool:
    """Return whether a program has equations that are not the same on whoever's values."""
    return any(
        e.primitive is transfer_p
        or any(map(is_place, e.params.values()))
        or speaks_of_ranks(e)
        or any(map(_is_special, subjaxprs(e)))
        for e in program.eqns
    )


def regions(
    steps: Sequence[FlatStep], done: set[Value]
) -> Iterator[tuple[tuple[str, ...], list[FlatStep]]]:
    """Yield regions in an order in which they can run: whose values, and the steps. ``done``: the
    inputs.

    As few as a greedy choice makes: first what depends on no input, then from the first step that
    is left all that can go with it.
    """
    free = [s for s in steps if all(r.own is None for r in s.results)]
    if free:
        yield (), free
    done = done | {r for s in free for r in s.results}
    left = [s for s in steps if s not in set(free)]
    while left:
        own, here, chosen, rest = left[0].own, set[Value](), [], []
        for s in left:
            if s.own == own and s.can_follow(done, here):
                chosen.append(s)
                here.update(s.results)
            else:
                rest.append(s)
        yield own, chosen
        done |= here
        left = rest
