"""How many floating-point operations an operator takes, from the shapes of its arguments.

Products and convolutions are counted, a multiplication and its addition as two; what is done
element by element is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from torchlike._core.dispatch.registry import OPTIONS, names_with
from torchlike._ops.aten.custom import OpOverloadPacket
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils._pytree import tree_leaves, tree_map

Shape = Sequence[int]
Formula = Callable[..., int]

#: Packets -> ``formula(*args, out_val=…, **kwargs)``, on the operator's own arguments and result.
REGISTRY: dict[Any, Formula] = {}
#: Operators that torchlike has where PyTorch runs several, by name: their packets are made late.
_OWN: dict[str, Formula] = {}


def on_shapes(formula: Formula) -> Formula:
    """Turn a formula of shapes into one of tensors."""

    @functools.wraps(formula)
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out = tree_map(
            lambda x: x.shape if isinstance(x, Tensor) else x, (args, kwargs, out_val)
        )
        return formula(*args, out_shape=out, **kwargs)

    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Return a decorator for a function that counts the operations of these operators (packets,
    such as ``torch.ops.mylib.foo``).

    It gets the operator's arguments with shapes in the place of tensors and ``out_shape``; with
    ``get_raw`` the tensors themselves and ``out_val``. ValueError for what is no packet,
    RuntimeError for one that has a formula.
    """

    def register(formula: Formula) -> Formula:
        kept = formula if get_raw else on_shapes(formula)
        for target in tree_leaves(targets):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket "
                    f"(i.e. torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in REGISTRY:
                raise RuntimeError(f"duplicate registrations for {target}")
            REGISTRY[target] = kept
        return kept

    return register


def formula_of(packet: Any, chosen: dict[Any, Formula]) -> Formula | None:
    """Return the formula for a packet: one of the ``chosen``, else that of one of torchlike's own
    operators."""
    found = chosen.get(packet)
    return _OWN.get(str(packet)) if found is None else found


for _name in names_with("flops"):
    register_flop_formula(getattr(aten, _name))(OPTIONS[_name]["flops"])


@register_flop_formula(aten._scaled_mm)
def _scaled_mm(a: Shape, b: Shape, *rest: Any, out_shape: Any = None, **options: Any) -> int:
    return 2 * a[0] * a[1] * b[1]


def _convolved(batch: int, places: Shape, kernel: Shape) -> int:
    """Count the operations of a kernel (out, in, *taps) at so many places of each of ``batch``
    images."""
    return 2 * batch * prod(places) * prod(kernel)


@register_flop_formula([aten.convolution, aten._convolution])
def _convolution(
    x: Shape,
    weight: Shape,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *rest: Any,
    out_shape: Shape,
    **options: Any,
) -> int:
    return _convolved(x[0], (x if transposed else out_shape)[2:], weight)


@register_flop_formula(aten.convolution_backward)
def _convolution_backward(
    grad: Shape,
    x: Shape,
    weight: Shape,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
    *,
    out_shape: Any,
    **options: Any,
) -> int:
    # The gradient of the input is the other convolution of grad with the weight. That of the
    # weight is one whose kernel is as large as an image, with batch and channels exchanged.
    total = 0
    if output_mask[0]:
        total += _convolved(grad[0], (out_shape[0] if transposed else grad)[2:], weight)
    if output_mask[1]:
        image, kernel = (grad, x) if transposed else (x, grad)
        exchanged = (kernel[1], kernel[0], *kernel[2:])
        total += _convolved(image[1], out_shape[1][2:], exchanged)
    return total


def _attention(query: Shape, key: Shape, value: Shape) -> int:
    """Count the operations of scores and weighted sums; heads of keys and values may be shared."""
    return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


_ATTENTION = (
    aten._scaled_dot_product_flash_attention,
    aten._scaled_dot_product_efficient_attention,
    aten._scaled_dot_product_flash_attention_for_cpu,
)


@register_flop_formula(_ATTENTION)
def _attention_forward(
    query: Shape, key: Shape, value: Shape, *rest: Any, out_shape: Any = None, **options: Any
) -> int:
    return _attention(query, key, value)


# -- torchlike's own operators ---------------------------------------------------------------------


def _own(*names: str) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        _OWN.update(dict.fromkeys(names, on_shapes(formula)))
        return formula

    return register


@_own("torchlike._scaled_dot_product_flash_attention_for_cpu_backward")
def _attention_backward(
    cotangents: Any,
    which: Any,
    query: Shape,
    key: Shape,
    value: Shape,
    *rest: Any,
    out_shape: Any = None,
    **options: Any,
) -> int:
    # The scores again and their gradient; of the values, queries and keys.
    scores, values = (
        _attention(query, key, (*value[:-1], 0)),
        _attention((*query[:-1], 0), key, value),
    )
    return 3 * scores + 2 * values


def _letters(operands: Sequence[Shape], equation: str) -> tuple[list[str], str]:
    """Return a letter for each dimension of the operands and of the result, those of "..." too."""
    terms, arrow, result = equation.replace(" ", "").partition("->")
    found, most = [], 0
    for term, shape in zip(terms.split(","), operands, strict=True):
        count = len(shape) - len(term.replace("...", "")) if "..." in term else 0
        most = max(most, count)
        found.append(term.replace("...", "".join(chr(0x1000 + d) for d in reversed(range(count)))))
    shared = "".join(chr(0x1000 + d) for d in reversed(range(most)))
    if not arrow:
        named = terms.replace("...", "").replace(",", "")
        return found, shared + "".join(sorted(c for c in named if named.count(c) == 1))
    return found, result.replace("...", shared)


@_own("torchlike.einsum")
def _einsum(operands: Sequence[Shape], equation: str, *, out_shape: Any, **options: Any) -> int:
    """Count products of operands from the left to the right; a letter that no other has is summed
    before, one that none of the rest has in the product. Without such, nothing is counted."""
    letters, result = _letters(operands, equation)
    sizes: dict[str, int] = {}
    for term, shape in zip(letters, operands, strict=True):
        for c, n in zip(term, shape, strict=True):
            sizes[c] = max(n, sizes.get(c, 1))
    total, held = 0, set(letters[0])
    for i, term in enumerate(letters[1:], 1):
        later = set(result).union(*letters[i + 1 :])
        both = {c for c in held | set(term) if c in later or (c in held and c in term)}
        if not both <= later:
            total += 2 * prod(sizes[c] for c in both)
        held = both & later
    return total


@_own("torchlike.einsum_backward")
def _einsum_backward(
    cotangents: Any,
    which: Sequence[int],
    operands: Sequence[Shape],
    equation: str,
    *,
    out_shape: Any,
    **options: Any,
) -> int:
    return len(which) * _einsum(operands, equation, out_shape=cotangents[0])


def _recurrent_weights(weights: Sequence[Shape]) -> int:
    return sum(prod(w) for w in weights if len(w) == 2)


@_own("torchlike.recurrent", "torchlike.recurrent_packed")
def _recurrent(x: Shape, *rest: Any, out_shape: Any = None, **options: Any) -> int:
    weights = next(r for r in reversed(rest) if isinstance(r, (list, tuple)) and r)
    return 2 * prod(x[:-1]) * _recurrent_weights(weights)


@_own("torchlike.recurrent_backward", "torchlike.recurrent_packed_backward")
def _recurrent_backward(
    cotangents: Any,
    which: Sequence[int],
    x: Shape,
    *rest: Any,
    out_shape: Any = None,
    **options: Any,
) -> int:
    """Count a product for each weight's gradient, and one for that of what it was multiplied with:
    not for the input, unless it is asked for."""
    total = 2 * _recurrent(x, *rest)
    if 0 not in which:
        weights = next(r for r in reversed(rest) if isinstance(r, (list, tuple)) and r)
        total -= 2 * prod(x[:-1]) * prod(weights[0])
    return total


def _cell(x: Shape, *rest: Shape, out_shape: Any = None, **options: Any) -> int:
    matrices = [s for s in rest if s and len(s) == 2][-2:]
    return 2 * x[0] * _recurrent_weights(matrices)


def _cell_backward(
    cotangents: Any,
    which: Sequence[int],
    x: Shape,
    *rest: Shape,
    out_shape: Any = None,
    **options: Any,
) -> int:
    given = (x, *rest)
    matrices = [i for i, s in enumerate(given) if s and len(s) == 2][-2:]
    # For a weight its gradient; for what it is multiplied with, in the same order, that one's.
    return (
        2
        * x[0]
        * sum(prod(given[m]) * ((m in which) + (i in which)) for i, m in enumerate(matrices))
    )


for _name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
    _own(f"torchlike.{_name}")(_cell)
    _own(f"torchlike.{_name}_backward")(_cell_backward)
    if _name != "lstm_cell":
        register_flop_formula(getattr(aten, _name))(_cell)


@_own("torchlike.multi_dot", "torchlike.chain_matmul")
def _multi_dot(matrices: Sequence[Shape], *, out_shape: Any = None, **options: Any) -> int:
    """Count the products in the cheapest order."""
    first = () if len(matrices[0]) == 2 else (1,)
    sizes = [*first, *matrices[0], *(m[-1] if len(m) == 2 else 1 for m in matrices[1:])]
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            cost[i, j] = min(
                cost[i, k] + cost[k + 1, j] + 2 * sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            )
    return cost[0, n - 1]
