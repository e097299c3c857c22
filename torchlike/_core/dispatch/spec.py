"""OpSpec: what is known of one op, and the executables made from it.

It comes from the op's function and the options of its definition (`OpOptions`), such as what
backward keeps; these stand nowhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from torchlike._core import modes
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.schema import Schema
from torchlike._runtime.homes import home
from torchlike._runtime.provided import Provided
from torchlike._runtime.short_rows import AsOneRow

if TYPE_CHECKING:
    import jax

    from torchlike._core.cells import Argument
    from torchlike._core.dispatch.executable import Traced
    from torchlike.tensor import Tensor

#: Arguments that are no tensors, in canonical form.
Statics = tuple[Hashable, ...]
#: Which operands each wanted gradient needs.
Needs = Mapping[str, Sequence[str]] | Literal["nothing"] | None
#: What ``out=`` may be cast to.
CastsOut = bool | Literal["dtype", "kind", "kernel", "truth"]
_T = TypeVar("_T")

# -- what a definition says ------------------------------------------------------------------------


class PublicOptions(TypedDict, total=False):
    """Keyword arguments of ``@op`` and ``@composite`` alike: what others ask of a public function.

    Several definitions of one name (an op and the function that calls it) share what is asked by
    name: autocast's policy and the words of refusals.
    """

    #: Whether it has a gradient (the default). Without one its outputs never require grad.
    differentiable: bool
    #: Whether a composite's one tensor is its first argument. Its method cannot be the first to
    #: meet something to be asked, and is a frame shorter (detach: 0.85 for 1.06 us).
    only_self: bool
    #: Whether each element is computed by itself. Of ops that is said by ``elementwise=``, but for
    #: those whose results are laid out otherwise.
    pointwise: bool
    #: Whether it is 0 where its one operand is: on sparse tensors it looks at the values alone.
    zero_at_zero: bool
    #: Whether there is ``torch._foreach_NAME``, which applies it to each tensor of a list.
    foreach: bool
    #: What aten's overloads of the name say of themselves (``torch.Tag``), as words: "reduction" of
    #: the default one, "reduction.default|dim" of those two.
    tags: str
    #: ``count(*arguments, **keywords)``: how many floating-point operations aten's operator of the
    #: name takes, from its arguments with shapes in the place of tensors.
    flops: Callable[..., int]
    #: ``rule(aten, *arguments, **keywords)``: what it is in simpler operators of
    #: ``torch.ops.aten``, for ``torch._decomp``; or a rule for each of some overloads:
    #: ``{"Scalar": rule}``.
    decomposition: Callable[..., object] | Mapping[str, Callable[..., object]]
    #: What autocast casts the floats among its arguments to: "low" (autocast's dtype), "float32" or
    #: "widest" (of the arguments'), on all devices or on some: ``{"cpu": …, "cuda": …, "xla": …}``.
    autocast: str | Mapping[str, str] | None
    #: Names that parameters have in other overloads of PyTorch's: ``{"tensor": "other"}``.
    other_names: Mapping[str, str]
    #: Whether PyTorch's function is written in Python, so that ``__torch_function__`` is given all
    #: arguments by these names; or how it is given them, as text. It holds in
    #: "nn.functional" if the function is there, else in "".
    python_signature: bool | str
    #: Whether all namespaces have the same object, as PyTorch has some. Else each has its own, as
    #: ``__torch_function__`` is told which was called.
    one_object: bool
    #: Whether a function in the torch namespace asks ``__torch_function__`` (the default).
    overridable: bool
    #: PyTorch's words for an ``out=`` of another dtype, where they are not the usual ones, with
    #: {name}, {wanted}, {found} and {which} ("values" or "indices"); or words for each of the two.
    out_refusal: str | tuple[str, str]


class OpOptions(PublicOptions, total=False):
    """Keyword arguments of ``@op`` alone; one not said is False or None, but for
    ``differentiable``."""

    #: The in-place form of an op that is not differentiable has a gradient, of zeros.
    ends_history: bool
    #: Which operands each wanted gradient needs: None for all of them, "nothing" for linear ops, or
    #: ``{"input": ["other"], …}``. A wrong entry gives NaN gradients, never wrong numbers.
    needs: Needs
    #: ``rule(cotangent, output, *statics)``, for ops whose gradient needs only the output.
    from_output: Callable[..., jax.Array] | None
    #: Keep what ``jax.vjp`` saves instead of recomputing the forward in backward.
    residuals: bool
    #: For linear ops, given the numbers among the operands: which operands' gradient is that of the
    #: output, where it has their shape and dtype.
    identity_grad_for: Callable[..., tuple[int, ...]] | None
    #: The node's name; ``MulBackward0`` of ``mul`` by default.
    grad_name: str
    #: Operands that PyTorch's node calls otherwise, ``_saved_mat2`` for ``other``. ``self`` for
    #: ``input`` need not be said.
    saved_names: Mapping[str, str]
    #: A loop over elements: outputs keep the inputs' memory order, ``out=`` casts.
    elementwise: bool
    #: An elementwise op of one operand that XLA has an instruction for, and no vectors for where
    #: rows are short (``_runtime/short_rows.py``).
    one_instruction: bool
    #: The result is the operand, its memory order included.
    copies: bool
    #: Another rule of ``_ops/memory_order.py`` for the outputs' strides.
    memory_order: Callable[..., None] | None
    #: Whether ``out=`` may have another dtype of at least the result's category. So it is by
    #: default for elementwise ops, and not for others. "dtype": the op has a parameter ``dtype``,
    #: which ``out=`` sets; "kind": real and complex are kept apart; "kernel": floats stay floats,
    #: and anything else is NotImplementedError. Or a function of the operands that gives one of
    #: these.
    casts_out: CastsOut | Callable[..., CastsOut]
    #: ``check(*all arguments)``, called before the op for errors that depend on values (an index
    #: out of range); in a capture it becomes a part of the program (``_ops/value_checks.py``).
    check: Callable[..., None] | None
    #: A namedtuple class for multiple outputs.
    returns: Callable[..., tuple[Tensor, ...]] | None
    #: It writes one number everywhere: memory that overlaps itself does its in-place form no harm.
    writes_one_number: bool
    #: It reads in another order than it writes: what it writes may share no memory with operands,
    #: that apart which its in-place form writes over.
    reorders: bool
    #: It takes parameters of a lazy module, which have no shape yet.
    takes_uninitialized: bool


#: device -> name -> "low", "float32" or "widest", as the ops' definitions say (``autocast=``). They
#: follow PyTorch's lists, of its CPU and CUDA kernels, and of torch_xla for TPUs; what those
#: compute otherwise without saying (matmul as a part) follows from the parts.
AUTOCAST: dict[str, dict[str, str]] = {"cpu": {}, "cuda": {}, "xla": {}}
_POLICIES = frozenset(("low", "float32", "widest"))


def declare_autocast(name: str, policies: str | Mapping[str, str] | None) -> None:
    """Note the policies in an op's definition: one for every device, or one for each of some.

    Definitions of the same name share them: the op ``mse_loss`` and the public function that calls
    it. ValueError for a device or a policy that there is not.
    """
    if policies is None:
        return
    if isinstance(policies, str):
        policies = dict.fromkeys(AUTOCAST, policies)
    for device, policy in policies.items():
        if device not in AUTOCAST or policy not in _POLICIES:
            raise ValueError(f"op {name}: there is no autocast policy {device}: {policy}")
        AUTOCAST[device][name] = policy


def has_autocast(name: str) -> bool:
    """Return whether autocast has a policy for an op or public function of a name."""
    return any(name in names for names in AUTOCAST.values())


_KNOWN = {
    PublicOptions: PublicOptions.__annotations__.keys(),
    OpOptions: PublicOptions.__annotations__.keys() | OpOptions.__annotations__.keys(),
}


def check_options(name: str, options: Mapping[str, object], known: type) -> None:
    """Raise TypeError for an option that is not among the ``known`` class's."""
    unknown = options.keys() - _KNOWN[known]
    if unknown:
        raise TypeError(
            f"op {name} is defined with what is no option: {', '.join(sorted(unknown))}"
        )


# -- what is known of an op ------------------------------------------------------------------------

lay_out_loop = Provided("gives results of elementwise ops their strides, as memory_order rules do")


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
        "identity_grad_for",
        "in_place",
        "kept_for",
        "lays_out",
        "memory_order",
        "name",
        "namespaces",
        "number_mask",
        "one_instruction",
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
        self, fn: Callable[..., Traced], name: str, namespaces: tuple[str, ...], options: OpOptions
    ) -> None:
        """Describe the op ``fn`` by its schema and ``options``; raise TypeError for an option that
        there is not."""
        check_options(name, options, OpOptions)
        say = options.get
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
        self.identity_grad_for = say("identity_grad_for")
        camel = "".join(part.capitalize() for part in name.strip("_").split("_"))
        self.grad_name = say("grad_name", f"{camel}Backward0")
        self.saved_names: dict[str, str] = {"input": "self", **say("saved_names", {})}
        #: The rule of ``_ops/memory_order.py`` for the outputs' strides; None for row-major.
        self.memory_order = say("memory_order") or (lay_out_loop.get() if elementwise else None)
        #: Whether that rule is for operands of every order.
        self.lays_out = getattr(self.memory_order, "whatever_the_operands", False)
        #: Whether a result is cast to the dtype of ``out=``, or that must be its own.
        self.casts_out: CastsOut | Callable[..., CastsOut] = say("casts_out", elementwise)
        self.check = say("check")
        self.returns = say("returns")
        self.one_instruction = say("one_instruction", False)
        self.writes_one_number = say("writes_one_number", False)
        self.reorders = say("reorders", False)
        self.takes_uninitialized = say("takes_uninitialized", False)
        #: The in-place variant, once made.
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
        state = modes.current.autocast
        pure = plain if state is None else state.casting(plain, self.name)
        rule = None
        if self.from_output is not None and mask and pure is plain:
            rule = functools.partial(_call_rule, self.from_output, statics)
        saved = None
        if self.kept_for is not None and pure is plain:
            kept = {k for i in range(n) if mask >> i & 1 for k in self.kept_for(i, n)}
            saved = tuple(sorted(kept))
        exe = Executable(
            self.grad_name,
            pure,
            mask,
            n,
            saved=saved,
            rule=rule,
            residuals=self.residuals,
            identity_grad_for=self.identity_grad_for if mask and pure is plain else None,
            free=self.schema.scalar_operands,
            differentiable=self.differentiable,
            library=home(self.fn).startswith("torchlike."),
            forward_as=AsOneRow if self.one_instruction else None,
        )
        exe.op = self.name
        exe.options = self, statics, lengths
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
