"""Facts: the keyword arguments of ``@op``, such as what backward keeps. They stand nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import jax

    from torchlike.tensor import Tensor


#: Which operands each wanted gradient needs.
Needs = Mapping[str, Sequence[str]] | Literal["nothing"] | None
#: What ``out=`` may be cast to.
CastsOut = bool | Literal["dtype", "kind", "kernel", "truth"]


class PublicFacts(TypedDict, total=False):
    """Keyword arguments of ``@op`` and ``@composite`` alike: what others ask of a public function.

    Several definitions of one name (an op and the function that calls it) share what is asked by
    name: autocast's policy and the words of refusals.
    """

    #: Whether it has a gradient (the default). Without one its outputs never require grad.
    differentiable: bool
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
    #: arguments by these names; or how it is given them, as text (forms.py). It holds in
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


class Facts(PublicFacts, total=False):
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
    passes_on: Callable[..., tuple[int, ...]] | None
    #: The node's name; ``MulBackward0`` of ``mul`` by default.
    grad_name: str
    #: Operands that PyTorch's node calls otherwise, ``_saved_mat2`` for ``other``. ``self`` for
    #: ``input`` need not be said.
    saved_names: Mapping[str, str]
    #: A loop over elements: outputs keep the inputs' memory order, ``out=`` casts.
    elementwise: bool
    #: An elementwise op of one operand that XLA has an instruction for, and no vectors for where
    #: rows are short (short_rows.py).
    one_instruction: bool
    #: The result is the operand, its memory order included.
    copies: bool
    #: Another rule of memory_order.py for the outputs' strides.
    memory_order: Callable[..., None] | None
    #: Whether ``out=`` may have another dtype of at least the result's category. So it is by
    #: default for elementwise ops, and not for others. "dtype": the op has a parameter ``dtype``,
    #: which ``out=`` sets; "kind": real and complex are kept apart; "kernel": floats stay floats,
    #: and anything else is NotImplementedError. Or a function of the operands that gives one of
    #: these.
    casts_out: CastsOut | Callable[..., CastsOut]
    #: ``check(*all arguments)``, called eagerly before the op for errors that depend on values (an
    #: index out of range); not called while a graph is captured.
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


_KNOWN = {
    PublicFacts: PublicFacts.__annotations__.keys(),
    Facts: PublicFacts.__annotations__.keys() | Facts.__annotations__.keys(),
}


def refuse_unknown(name: str, facts: Mapping[str, object], known: type) -> None:
    """Raise TypeError for a fact that definitions of a kind (``Facts`` or ``PublicFacts``) do not
    have."""
    unknown = facts.keys() - _KNOWN[known]
    if unknown:
        raise TypeError(f"op {name} says what is no fact of ops: {', '.join(sorted(unknown))}")
