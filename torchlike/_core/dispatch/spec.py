"""OpSpec: the facts of one op, and the executables made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from torchlike._core.dispatch import autocast
from torchlike._core.dispatch import memory_order as memory_orders
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.facts import CastsOut, Facts, Needs, refuse_unknown
from torchlike._core.dispatch.schema import Schema
from torchlike._core.dispatch.short_rows import AsOneRow

if TYPE_CHECKING:
    import jax

    from torchlike._core.cells import Argument
    from torchlike._core.dispatch.executable import Traced

#: Arguments that are no tensors, in canonical form.
Statics = tuple[Hashable, ...]
_T = TypeVar("_T")


class OpSpec:
    """Everything known of one op."""

    __slots__ = (
        "cache",
        "casts_out",
        "check",
        "combine",
        "copies",
        "differentiable",
        "ends_history",
        "fn",
        "from_output",
        "grad_name",
        "in_place",
        "kept_for",
        "lays_out",
        "memory_order",
        "name",
        "namespaces",
        "number_mask",
        "one_instruction",
        "passes_on",
        "reorders",
        "residuals",
        "returns",
        "saved_names",
        "schema",
        "takes_uninitialized",
        "wrapped_mask",
        "writes_one_number",
    )

    def __init__(
        self, fn: Callable[..., Traced], name: str, namespaces: tuple[str, ...], facts: Facts
    ) -> None:
        """Describe the op ``fn`` by its schema and ``facts``; raise TypeError for a fact that there
        is not."""
        refuse_unknown(name, facts, Facts)
        say = facts.get
        elementwise = say("elementwise", False)
        self.fn = fn
        #: As errors say it: cat() is the public face of cat_op.
        self.name = name.removesuffix("_op")
        self.schema = Schema(fn, self.name, say("other_names"))
        self.namespaces = namespaces
        self.differentiable = say("differentiable", True)
        self.copies = say("copies", False)
        self.ends_history = say("ends_history", False)
        self.from_output = say("from_output")
        self.residuals = say("residuals", False)
        self.passes_on = say("passes_on")
        camel = "".join(part.capitalize() for part in name.strip("_").split("_"))
        self.grad_name = say("grad_name", f"{camel}Backward0")
        self.saved_names: dict[str, str] = {"input": "self", **say("saved_names", {})}
        #: The rule of memory_order.py that gives outputs their strides; None for row-major.
        self.memory_order = say("memory_order") or (memory_orders.of_loop if elementwise else None)
        #: Whether that rule is for operands of every order.
        self.lays_out = self.memory_order in memory_orders.ALWAYS
        #: Whether a result is cast to the dtype of ``out=``, or that must be its own.
        self.casts_out: CastsOut | Callable[..., CastsOut] = say("casts_out", elementwise)
        self.check = say("check")
        self.returns = say("returns")
        self.one_instruction = say("one_instruction", False)
        self.writes_one_number = say("writes_one_number", False)
        self.reorders = say("reorders", False)
        self.takes_uninitialized = say("takes_uninitialized", False)
        #: The in-place twin, once made.
        self.in_place: Any = None
        self.kept_for = _kept_for(say("needs"), self.schema)
        #: (mask, statics) -> Executable
        self.cache: dict[Hashable, Executable] = {}
        self.number_mask = sum(
            1 << bit
            for bit, i in enumerate(self.schema.operand_positions)
            if self.schema.kinds[i].number and self.schema.kinds[i].check is None
        )
        #: Operands in which PyTorch turns a number into a 0-dim tensor (``x * 2``), rather than
        #: having another kernel for it (``clamp(0, 1)``, ``alpha=2``).
        self.wrapped_mask = sum(
            1 << bit
            for bit, i in enumerate(self.schema.operand_positions)
            if self.schema.kinds[i].number
            and not (self.schema.kinds[i].scalar or self.schema.kinds[i].optional)
        )
        self.combine = self._combiner()

    def _combiner(self) -> Callable[[tuple[Any, ...], Statics], list[Any]]:
        """Return the function ``combine(operands, statics) -> arguments of fn, in order``."""
        where = [(True, i) for i in self.schema.operand_positions]
        where += [(False, i) for i in self.schema.static_positions]
        order = sorted(range(len(where)), key=lambda k: where[k][1])
        n = len(self.schema.operand_positions)

        def combine(operands: tuple[object, ...], statics: Statics) -> list[object]:
            return [operands[k] if k < n else statics[k - n] for k in order]

        return combine

    def pure(self, statics: Statics, lengths: tuple[int, ...] = ()) -> Callable[..., Traced]:
        """Return the function of the (flattened) operands alone."""
        fn, combine = self.fn, self.combine
        positional = self.schema.positional
        keywords = self.schema.names[positional:]
        limits = self.schema.limits

        def pure(*operands: Argument) -> Traced:
            grouped = group(operands, lengths) if lengths else operands
            args = combine(grouped, statics)
            for i, check in limits:
                check(args[i], args[0])
            return fn(*args[:positional], **dict(zip(keywords, args[positional:], strict=True)))

        return pure

    def executable(
        self, mask: int, statics: Statics, lengths: tuple[int, ...], n: int
    ) -> Executable:
        """Make and remember the executable for this key."""
        plain = self.pure(statics, lengths)
        pure = autocast.casting(plain, self.name)
        rule = None
        if self.from_output is not None and mask and pure is plain:
            rule = functools.partial(_call_rule, self.from_output, statics)
        kept = None
        if self.kept_for is not None and pure is plain:
            kept = tuple(
                sorted({k for i in range(n) if mask >> i & 1 for k in self.kept_for(i, n)})
            )
        exe = Executable(
            self.grad_name,
            pure,
            mask,
            n,
            kept=kept,
            rule=rule,
            residuals=self.residuals,
            passes_on=self.passes_on if mask and pure is plain else None,
            free=self.schema.scalar_operands,
            differentiable=self.differentiable,
            library=self.fn.__module__.startswith("torchlike."),
            forward_as=AsOneRow if self.one_instruction else None,
        )
        exe.op = self.name
        exe.facts = self, statics, lengths
        self.cache[(mask, statics, lengths) if lengths else (mask, statics)] = exe
        return exe


def _call_rule(
    rule: Callable[..., jax.Array], statics: Statics, cotangent: jax.Array, out: jax.Array
) -> jax.Array:
    return rule(cotangent, out, *statics)


def group(operands: Sequence[_T], lengths: tuple[int, ...]) -> tuple[_T | tuple[_T, ...], ...]:
    """Undo the flattening of list operands: lengths[i] is -1 for a plain operand."""
    grouped, at = [], 0
    for n in lengths:
        if n < 0:
            grouped.append(operands[at])
            at += 1
        else:
            grouped.append(tuple(operands[at : at + n]))
            at += n
    return tuple(grouped)


def _kept_for(needs: Needs, schema: Schema) -> Callable[[int, int], Sequence[int]] | None:
    """Return the function ``kept_for(wanted operand, number of operands) -> operands its gradient
    needs``."""
    if needs is None:
        return None
    if needs == "nothing":
        if schema.has_sequence:
            return lambda i, n: ()
        return lambda i, n: schema.scalar_operands
    names = [schema.names[i] for i in schema.operand_positions]
    unknown = set(needs) | {v for vs in needs.values() for v in vs}
    unknown -= set(names)
    if unknown:
        raise TypeError(f"op {schema.op}: needs names unknown operands {sorted(unknown)}")
    free = schema.scalar_operands
    table = {names.index(k): (*free, *(names.index(v) for v in vs)) for k, vs in needs.items()}
    everything = tuple(range(len(names)))
    return lambda i, n: table.get(i, everything)
