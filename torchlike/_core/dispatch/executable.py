"""Executables: an op's pure function, compiled forward and backward.

One executable exists per (op, static arguments, which operands need gradients); shapes and dtypes
are left to jax.jit's own cache. What an op keeps for its backward is one of four policies, visible
at the op's definition:

- its operands, or those that the wanted gradients need (``needs``);
- nothing (``needs="nothing"``: linear ops; their backward only uses shapes);
- its output (``from_output``: relu, tanh, exp, softmax), with the rule for the gradient;
- residuals (``residuals=True``): what ``jax.vjp`` itself saves, for ops whose forward is dear.

While a capture runs, residuals are always kept: they are just values in the graph, and XLA then
sees exactly what hand-written ``jax.grad`` would give it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util

from torchlike._core import dtypes, modes
from torchlike._core.casts import NUMBERS
from torchlike._core.errors import check_bytes
from torchlike._runtime import first_calls, recycling, targets, x64
from torchlike._runtime.first_calls.inlined import unseen
from torchlike._runtime.inlining import AT_ONCE

if TYPE_CHECKING:
    from torchlike._core.cells import Argument, Value
    from torchlike._runtime.first_calls.families import Family

    #: What backward gives: a gradient for each wanted operand.
    Gradients = tuple[jax.Array, ...]
    #: The tree of a vjp, and for each leaf the operand that it is, or -1.
    Plan = tuple[tree_util.PyTreeDef, tuple[int, ...]]

#: The shape and dtype of an operand.
Aval = tuple[tuple[int, ...], np.dtype]
#: What an op's function gives.
Traced = jax.Array | tuple[jax.Array, ...]
#: A compiled form of it: JAX has no types for what it gives, an array or a tuple of arrays.
Form = Callable[..., Any]


_T = TypeVar("_T")


def flatten(out: _T | tuple[_T, ...]) -> tuple[_T, ...]:
    """Return the outputs of an op as a tuple (an op returns an array or a tuple of arrays)."""
    return out if isinstance(out, tuple) else (out,)


def _strengthen(x: jax.Array) -> jax.Array:
    """Drop JAX's weak type: a Tensor's dtype is always its own."""
    return jax.lax.convert_element_type(x, x.dtype) if x.aval.weak_type else x


def _conj(x: jax.Array) -> jax.Array:
    """Return the conjugate of a complex array, as PyTorch's gradients are the conjugates of JAX's
    cotangents, and a real one as it is."""
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


def _unusable(aval: Aval) -> jax.Array:
    """Return the stand-in for an operand that backward must not look at: NaN, so that a wrong
    `needs` shows.

    XLA removes it when, as it should be, nothing depends on it.
    """
    shape, dtype = aval
    fill = jnp.nan if dtype in dtypes.DIFFERENTIABLE else 0
    return jnp.full(shape, fill, dtype)


def unwatched(function: Callable[..., _T]) -> Callable[..., _T]:
    """Hide ``function``, which JAX traces, from a running capture: it runs no user code."""

    @functools.wraps(function)
    def traced(*args: object) -> _T:
        with modes.running_capture().paused():
            return function(*args)

    return traced


def called(exe: Executable, form: Callable[..., _T], *args: object) -> _T:
    """Call ``form(*args)``, a compiled form of ``exe``, and hide it from a running capture where it
    runs no user code: seeing what JAX does there took a third of a GPT step's capture."""
    capture = modes.current.capture
    if capture is None or not exe.library:
        return form(*args)
    return capture.unseen(form, *args)


@unseen.by
def _unseen(function: Callable[..., _T], *args: object) -> _T:
    return modes.running_capture().unseen(function, *args)


def _little(arguments: object) -> float:
    """Return a short patience with NumPy (``first_calls.jit``), as backward computes the forward
    again."""
    return 0.5


def _until_residuals(arguments: tuple[object, Residuals | None, object]) -> float:
    """Return the patience with NumPy for such a backward: once the forward is compiled, it keeps
    residuals, and the backward of those is another program."""
    _, residuals, _ = arguments
    return 4 if residuals is None else 1


@tree_util.register_pytree_node_class
class Residuals:
    """What a forward saved, as a pytree: arrays, and how to rebuild the vjp from them.

    Leaves that are the operands themselves are left out (a compiled function would copy them to
    return them) and put back from the node's saved operands.
    """

    __slots__ = ("arrays", "plan")

    def __init__(self, arrays: tuple[jax.Array, ...], plan: Plan) -> None:
        self.arrays = arrays
        self.plan = plan  # (treedef, per leaf: index of the operand it is, or -1)

    @classmethod
    def of(cls, vjp: Callable[..., object], operands: tuple[Argument, ...]) -> Residuals:
        leaves, treedef = tree_util.tree_flatten(vjp)
        where = tuple(next((i for i, o in enumerate(operands) if o is leaf), -1) for leaf in leaves)
        kept = tuple(leaf for leaf, i in zip(leaves, where, strict=True) if i < 0)
        return cls(kept, (treedef, where))

    def vjp(self, operands: tuple[Argument, ...]) -> Callable[..., tuple[jax.Array, ...]]:
        treedef, where = self.plan
        arrays = iter(self.arrays)
        leaves = [next(arrays) if i < 0 else operands[i] for i in where]
        return tree_util.tree_unflatten(treedef, leaves)

    def tree_flatten(self) -> tuple[tuple[jax.Array, ...], Plan]:
        return self.arrays, self.plan

    @classmethod
    def tree_unflatten(cls, plan: Plan, arrays: Iterable[jax.Array]) -> Residuals:
        return cls(tuple(arrays), plan)


class Executable:
    """An op's pure function for one pattern of wanted gradients, and its compiled forms."""

    __slots__ = (
        "_backward",
        "_donating",
        "_families",
        "_into",
        "abstract",
        "by_numpy",
        "differentiable",
        "double",
        "first",
        "forward",
        "forward_vjp",
        "has_tuple",
        "identity_grad_for",
        "is_large",
        "keeps_residuals",
        "large",
        "library",
        "mask",
        "name",
        "op",
        "options",
        "pure",
        "pushed",
        "rule",
        "saved",
        "saves",
        "transformed",
        "unmapped",
        "unsaved",
        "wanted",
    )

    def __init__(
        self,
        name: str,
        pure: Callable[..., Traced],
        mask: int,
        n_operands: int,
        *,
        saved: tuple[int, ...] | None = None,
        rule: Callable[[jax.Array, jax.Array], jax.Array] | None = None,
        residuals: bool = False,
        identity_grad_for: Callable[..., tuple[int, ...]] | None = None,
        free: tuple[int, ...] = (),
        differentiable: bool = True,
        library: bool = False,
        forward_as: Callable[..., Form] | None = None,
    ) -> None:
        self.name = name
        #: The name of the op it belongs to; "" for views and backward passes.
        self.op = ""
        #: Its (OpSpec, static arguments, lengths of its lists), or None.
        self.options: Any = None
        self.mask = mask
        self.wanted = tuple(i for i in range(n_operands) if mask >> i & 1)
        #: The operands that a node saves for backward, and those of which it keeps the avals alone.
        self.saved = tuple(range(n_operands)) if saved is None else saved
        self.unsaved = tuple(i for i in range(n_operands) if i not in self.saved)
        #: rule(cotangent, output) -> cotangent of the first operand; only the output is kept.
        self.rule = rule
        self.keeps_residuals = residuals
        #: identity_grad_for(*saved) -> operands whose gradient may be the output's very cotangent.
        self.identity_grad_for = identity_grad_for
        #: Whether backward frees anything, so that a second one is PyTorch's error.
        self.saves = residuals or rule is not None or any(i not in free for i in self.saved)
        self._backward: dict[tuple[Aval | None, ...], Callable[..., Gradients]] = {}
        #: First calls of backward passes for other sizes, by the ranks and dtypes of ``unsaved``.
        self._families: dict[Hashable, dict[Any, Family]] = {}
        self._donating: Form | None = None
        self._into: Form | None = None
        #: Whether a result was large; its kind, by those of operands (``_runtime/recycling.py``).
        self.is_large = False
        self.large: dict[Hashable, tuple[Hashable, int]] = {}
        #: The same on the meta device, once made (``_extensions/meta.py``).
        self.abstract: Executable | None = None
        #: Executables of this one's backward, for create_graph.
        self.double: dict[Hashable, Executable] = {}
        #: False for an op whose derivative PyTorch does not define, though JAX would.
        self.differentiable = differentiable
        #: Executables of this one under ``jax.vmap`` and ``jax.jvp`` (``_extensions/boxed.py``).
        self.transformed: dict[Hashable, Executable] = {}
        #: Whether the op gives a tuple; known once it was traced for a jvp.
        self.has_tuple: bool | None = None
        #: Of one under ``jax.jvp``: the function that gives outputs and tangents apart, and how
        #: many of its operands are primals.
        self.pushed: tuple[Form, int] | None = None
        #: How many outputs, the first ones, ``jax.vmap`` left one value; known once traced.
        self.unmapped = 0

        pure = targets.precise(pure)

        @functools.wraps(pure)
        def strong(*operands: Argument) -> Traced:
            x64.require()
            out = pure(*operands)
            for o in flatten(out):  # while it is traced: XLA would end the process
                check_bytes(o.shape, o.dtype.itemsize)
            self.is_large = self.is_large or recycling.concerns(flatten(out))
            if isinstance(out, tuple):
                return tuple(_strengthen(o) for o in out)
            return _strengthen(out)

        self.pure: Form = strong
        #: Whether all of it is torchlike's own code, which nobody need watch being traced.
        self.library = library
        #: What answers the forward's first calls, and is recorded where calls are put off.
        self.first = first = self._first_calls(strong)
        #: The forward for operands with host values among them, as in ``first_calls``.
        self.by_numpy = first.by_numpy
        self.forward: Form = _Unmade(self, "forward", first.form)
        if forward_as is not None:  # forward_as(form, pure) is called in place of the form
            self.forward = _Unmade(self, "forward", lambda: forward_as(first.form(), strong))
        self.forward_vjp: Callable[..., tuple[Any, Residuals | None]] = _Unmade(
            self, "forward_vjp", lambda: self._first_calls(self._forward_vjp, like=self).form()
        )

    def _first_calls(
        self, function: Callable[..., object], like: Executable | None = None
    ) -> first_calls.FirstCalls:
        return first_calls.FirstCalls(
            self._traced(function),
            name=self.name,
            like=like,
            patience=_little if self.keeps_residuals and self.mask else None,
            op=self._op,
            of_library=self.library,
            inline=AT_ONCE,
        )

    def _op(self) -> str:
        """Return the name of the op, for errors."""
        return self.op or (self.name if self.options is None else self.options[0].name)

    def _traced(self, function: Callable[..., _T]) -> Callable[..., _T]:
        function = targets.precise(function)
        return unwatched(function) if self.library else function

    # -- forward -----------------------------------------------------------------------------------

    @property
    def donating(self) -> Form:
        """``forward`` in the memory of its first operand, for in-place ops."""
        if self._donating is None:
            self._donating = first_calls.jit(
                self.pure, name=self.name, like=self, op=self._op, donate_argnums=0
            )
        return self._donating

    @property
    def into(self) -> Form:
        """``forward`` of all but the first argument, in the memory of that."""
        if self._into is None:

            def pure(_: jax.Array, *operands: Argument) -> Traced:
                return self.pure(*operands)

            self._into = first_calls.jit(pure, name=self.name, donate_argnums=0, keep_unused=True)
        return self._into

    def _split(
        self, operands: tuple[Argument, ...]
    ) -> Callable[..., tuple[tuple[jax.Array, ...], Traced]]:
        """Return the function of the wanted operands alone; integer outputs are returned as aux."""

        def of_wanted(*wanted: jax.Array) -> tuple[tuple[jax.Array, ...], Traced]:
            merged = list(operands)
            for i, value in zip(self.wanted, wanted, strict=True):
                merged[i] = value
            out = self.pure(*merged)
            differentiable = tuple(o for o in flatten(out) if o.dtype in dtypes.DIFFERENTIABLE)
            return differentiable, out

        return of_wanted

    def _forward_vjp(self, *operands: Argument) -> tuple[Traced, Residuals | None]:
        if targets.is_numpy():
            # Few calls on small arrays: backward computes the forward again. What jax.vjp saves
            # holds a program, and so would be for these sizes alone.
            return self.pure(*operands), None
        wanted = [operands[i] for i in self.wanted]
        _, vjp, out = jax.vjp(self._split(operands), *wanted, has_aux=True)
        return out, Residuals.of(vjp, operands)

    # -- backward ----------------------------------------------------------------------------------

    def backward(self, unsaved_avals: tuple[Aval | None, ...]) -> Callable[..., Gradients]:
        """Return the compiled backward ``(saved, residuals, cotangents) -> gradients of the wanted
        operands``.

        ``cotangents`` has an entry for each output; None stands for zeros.
        """
        found = self._backward.get(unsaved_avals)
        if found is None:
            found = self._backward[unsaved_avals] = self._jitted_backward(unsaved_avals)
        return found

    def _jitted_backward(self, unsaved_avals: tuple[Aval | None, ...]) -> first_calls.CompiledForm:
        """Make the compiled backward for these avals: executables of many sizes differ in nothing
        but them, and are one family."""
        kinds = tuple([a and (len(a[0]), a[1]) for a in unsaved_avals])

        def make(sizes: tuple[Any, ...]) -> Callable[..., Gradients]:
            rest = iter(sizes)
            avals = tuple([k and (tuple(itertools.islice(rest, k[0])), k[1]) for k in kinds])
            return self._traced(functools.partial(self._run_backward, avals))

        sizes = tuple([n for a in unsaved_avals if a for n in a[0]])
        return first_calls.jit(
            make(sizes),
            name=f"{self.name}, backward",
            template=first_calls.FormTemplate(make, sizes),
            families=self._families.setdefault(kinds, {}),
            patience=_until_residuals if self.keeps_residuals else None,
            of_library=self.library,
            inline=AT_ONCE,
        )

    def passed_on(
        self, saved: Sequence[Argument], avals: tuple[Aval | None, ...], cotangent: Value
    ) -> tuple[Value, ...] | None:
        """Return the gradients, where all are the cotangent itself (compiled, each would be a copy
        of it); else None."""
        assert self.identity_grad_for is not None
        passing = self.identity_grad_for(*saved)
        aval = cotangent.shape, cotangent.dtype
        for i in self.wanted:
            if i not in passing or avals[self.unsaved.index(i)] != aval:
                return None
        return (cotangent,) * len(self.wanted)

    def _run_backward(
        self,
        unsaved_avals: tuple[Aval | None, ...],
        saved: Sequence[Any],
        residuals: Residuals | None,
        cotangents: Sequence[Any],
    ) -> Gradients:
        x64.require()
        if self.rule is not None:
            return (_strengthen(self.rule(cotangents[0], saved[0])),)
        operands: list[Argument] = [None] * (len(self.saved) + len(self.unsaved))
        for i, value in zip(self.saved, saved, strict=True):
            operands[i] = value
        unusable = {a: None if a is None else _unusable(a) for a in set(unsaved_avals)}
        for i, aval in zip(self.unsaved, unsaved_avals, strict=True):
            operands[i] = unusable[aval]
        whole = tuple(operands)
        if residuals is None:
            outputs, vjp, aux = jax.vjp(
                self._split(whole), *(whole[i] for i in self.wanted), has_aux=True
            )
            out = flatten(aux)
            shapes = [o.aval for o in outputs]
        else:
            vjp = residuals.vjp(whole)
            out = flatten(jax.eval_shape(self.pure, *whole))
            shapes = [o for o in out if o.dtype in dtypes.DIFFERENTIABLE]
        given = [
            c for c, o in zip(cotangents, out, strict=True) if o.dtype in dtypes.DIFFERENTIABLE
        ]
        filled = tuple(
            jnp.zeros(s.shape, s.dtype) if c is None else _conj(c).astype(s.dtype)
            for c, s in zip(given, shapes, strict=True)
        )
        return tuple(_conj(g) for g in vjp(filled))

    def save(
        self, arrays: Sequence[Argument], out: Any
    ) -> tuple[tuple[Argument, ...], tuple[Aval | None, ...]]:
        """Return what a node saves: (arrays to keep, avals of the operands that are not saved)."""
        if self.rule is not None:
            return (out,), ()
        if not self.unsaved:
            return tuple(arrays), ()
        return tuple([arrays[i] for i in self.saved]), tuple(
            [_aval(arrays[i]) for i in self.unsaved]
        )


class _Unmade:
    """A compiled form until its first call, which makes it and puts it in its place.

    Most executables are never asked for theirs, and the first call of an op on small tensors is a
    seventh shorter without. (By ``__getattr__`` every attribute of an executable took longer.)
    """

    __slots__ = ("__weakref__", "_exe", "_form", "_make", "_slot")

    def __init__(self, exe: Executable, slot: str, make: Callable[[], Form]) -> None:
        self._exe, self._slot, self._make = exe, slot, make
        self._form: Form | None = None

    def __call__(self, *args: object) -> Any:
        return self._made()(*args)

    def by_numpy(self, *args: object) -> Any:
        return self._made().by_numpy(*args)

    def _made(self) -> Any:
        if self._form is None:
            self._form = self._make()
            setattr(self._exe, self._slot, self._form)
        return self._form


def _aval(x: Argument) -> Aval | None:
    if x is None:
        return None
    if type(x) in NUMBERS:
        return (), dtypes.scalar_dtype(x).numpy
    return x.shape, x.dtype  # type: ignore[union-attr]
