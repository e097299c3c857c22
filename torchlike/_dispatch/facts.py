"""Facts: the keyword arguments of ``@op``, such as what backward keeps. They stand nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict


class Facts(TypedDict, total=False):
    """Keyword arguments of ``@op``; one not said is False or None, but for ``differentiable``."""

    #: Whether it has a gradient (the default). Without one its outputs never require grad.
    differentiable: bool
    #: The in-place form of an op that is not differentiable has a gradient, of zeros.
    ends_history: bool
    #: Which operands each wanted gradient needs: None for all of them, "nothing" for linear ops, or
    #: ``{"input": ["other"], …}``. A wrong entry gives NaN gradients, never wrong numbers.
    needs: Any
    #: ``rule(cotangent, output, *statics)``, for ops whose gradient needs only the output.
    from_output: Callable[..., Any] | None
    #: Keep what ``jax.vjp`` saves instead of recomputing the forward in backward.
    residuals: Any
    #: For linear ops, given the numbers among the operands: which operands' gradient is that of the
    #: output, where it has their shape and dtype.
    passes_on: Callable[..., tuple[int, ...]] | None
    #: The node's name; ``MulBackward0`` of ``mul`` by default.
    grad_name: str
    #: Operands that PyTorch's node calls otherwise, ``_saved_mat2`` for ``other``. ``self`` for
    #: ``input`` need not be said.
    saved_names: Mapping[str, str]
    #: A loop over elements: outputs keep the inputs' memory order, ``out=`` casts.
    elementwise: Any
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
    casts_out: Any
    #: ``check(*all arguments)``, called eagerly before the op for errors that depend on values (an
    #: index out of range); not called while a graph is captured.
    check: Callable[..., None] | None
    #: A namedtuple class for multiple outputs.
    returns: Any
    #: It writes one number everywhere: memory that overlaps itself does its in-place form no harm.
    writes_one_number: bool
    #: It reads in another order than it writes: what it writes may share no memory with operands,
    #: that apart which its in-place form writes over.
    reorders: bool
    #: It takes parameters of a lazy module, which have no shape yet.
    takes_uninitialized: bool
