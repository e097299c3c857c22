"""What an equation of ``einsum`` must be, in PyTorch's words rather than JAX's, and the view that
it is where nothing is multiplied or summed."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from torchlike._core import dtypes, views
from torchlike._ops.memory_order import whatever_the_operands
from torchlike.tensor import Tensor

#: By the numbers they have in lists.
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LETTERS = frozenset(_ALPHABET)
NO_OPERANDS = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand "
    "and its subscripts list"
)


def from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and operands in ``(a, [0, 1], b, [1, 2], [0, 2])``; the last list is
    optional."""
    if len(arguments) < 2:
        raise ValueError(NO_OPERANDS)
    n = len(arguments) // 2 * 2
    equation = ",".join(_letters_of(subscripts) for subscripts in arguments[1:n:2])
    if n < len(arguments):
        equation += "->" + _letters_of(arguments[-1])
    return equation, tuple(arguments[:n:2])


def _letters_of(subscripts: Any) -> str:
    text = ""
    for s in subscripts:
        number = -1 if s is Ellipsis else operator.index(s)
        if s is not Ellipsis and not 0 <= number < len(_ALPHABET):
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
        text += "..." if s is Ellipsis else _ALPHABET[number]
    return text


def permuted(equation: str, x: Tensor) -> Tensor | None:
    """Return the view that the equation (without blanks) makes of its one operand: diagonals, and
    the dimensions in another order. None where it sums."""
    check_einsum(equation, (x,))
    term, arrow, right = equation.partition("->")
    dots = "." * (x.dim() - len(term.replace("...", "")))  # one for each dimension covered
    labels = list(term.replace("...", dots))
    if not arrow:
        right = "..." + "".join(sorted(s for s in set(term) - {"."} if term.count(s) == 1))
    if not set(labels) <= set(right):
        return None
    for letter in dict.fromkeys(labels):
        while letter != "." and labels.count(letter) > 1:
            first = labels.index(letter)
            second = labels.index(letter, first + 1)
            x = x.diagonal(0, first, second).movedim(-1, first)
            del labels[second]
    start = labels.index(".") if dots else 0
    covered = range(start, start + len(dots))
    order: list[int] = []
    for part in right.replace("...", "."):
        order += covered if part == "." else [labels.index(part)]
    return x.permute(order)


@whatever_the_operands
def of_product(result: Any, operands: Sequence[Any], spec: Any, statics: Any) -> None:
    """Set the result's memory order to that of PyTorch's matrix product, of which the result is a
    permuted view."""
    if len(operands) == 2:
        size = result._storage.shape
        order = _order_of_product(statics[-1], *(o._geometry.size for o in operands))
        if order != tuple(range(len(size))):
            result._storage.strides = views.dense_strides(size, order)


@functools.lru_cache(1024)
def _order_of_product(
    equation: str, left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the dimensions of an equation's result, outermost first: the batch (those of both
    operands), then those of the left operand, then those of the right one; the right one's before
    the left one's where the result has them so. They stay in place where no matrix product is
    needed."""
    terms, arrow, out = equation.partition("->")
    a, b = (_sizes(t, s) for t, s in zip(terms.split(","), (left, right), strict=True))
    dots = max((k for k in (*a, *b) if type(k) is int), default=-1) + 1
    if not arrow:
        letters = terms.replace(",", "").replace(".", "")
        out = "..." + "".join(sorted(s for s in set(letters) if letters.count(s) == 1))
    labels: list[Any] = []
    for part in out.replace("...", "."):
        labels += range(dots - 1, -1, -1) if part == "." else [part]
    summed = {*a, *b} - {*labels}
    together = {k for k in summed if a.get(k, 1) != 1 and b.get(k, 1) != 1}
    if not together:
        return tuple(range(len(labels)))
    batch: list[int] = []
    of_left: list[int] = []
    of_right: list[int] = []
    for d, k in enumerate(labels):
        in_left, in_right = a.get(k, 1) != 1, b.get(k, 1) != 1
        (of_right if not in_left else batch if in_right else of_left).append(d)
    if of_left and of_right and of_right[-1] < of_left[0] and summed == together:
        return (*batch, *of_right, *of_left)
    return (*batch, *of_left, *of_right)


def _sizes(term: str, size: tuple[int, ...]) -> dict[Any, int]:
    """Return the size of each letter, and of dimensions that dots cover by their number from the
    last."""
    covered = len(size) - len(term.replace("...", ""))
    labels: list[Any] = []
    for part in term.replace("...", "."):
        labels += range(covered - 1, -1, -1) if part == "." else [part]
    return dict(zip(labels, size, strict=True))


def check_einsum(equation: str, operands: Sequence[Any]) -> None:
    """Raise RuntimeError unless the equation (without blanks) is valid and the operands fit it."""
    left, arrow, right = equation.partition("->")
    _check_letters(left, 0, ",")
    _check_letters(right, len(left) + len(arrow), "")
    terms = left.split(",")
    if len(terms) != len(operands):
        which = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {which} operands were provided than specified in the equation"
        )
    sizes: dict[str, int] = {}
    covered: list[int] = []
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        _check_operand(i, term, x, sizes, covered)
    _check_output(right, sizes)
    if any(x.dtype != operands[0].dtype for x in operands):
        _check_dtypes(terms, right if arrow else None, operands, sizes)


def _check_letters(text: str, start: int, also: str) -> None:
    """Check the letters of one side of the equation, which begins at ``start``."""
    rest = text.replace("...", "   ")
    operand = 0
    for i, letter in enumerate(rest):
        if letter == ".":
            where, ending = (f"operand {operand}", "") if also else ("output", " (...)")
            raise RuntimeError(
                f"einsum(): found '.' for {where} that is not part of any ellipsis{ending}"
            )
        if letter != " " and letter not in _LETTERS and letter not in also:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        operand += letter == ","


def _check_operand(i: int, term: str, x: Any, sizes: dict[str, int], covered: list[int]) -> None:
    """Check one operand against the sizes that the ones before it have set. ``covered``: the sizes
    under the ellipsis, from the last."""
    if term.count("...") > 1:
        raise RuntimeError(
            f"einsum(): found '.' for operand {i} for which an ellipsis was already found"
        )
    letters = term.replace("...", "")
    dots = len(letters) != len(term)
    if len(letters) > x.ndim or (len(letters) < x.ndim and not dots):
        relation = "is more than" if dots else "does not match"
        ending = "" if dots else " and no ellipsis was given"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(letters)}) {relation} the "
            f"number of dimensions ({x.ndim}) for operand {i}{ending}"
        )
    before = term.index("...") if dots else len(letters)
    hidden = x.ndim - len(letters)
    shape = x.shape[:before] + x.shape[before + hidden :]
    own: dict[str, int] = {}
    for letter, n in zip(letters, shape, strict=True):
        if own.setdefault(letter, n) != n:
            raise RuntimeError(
                f"einsum(): subscript {letter} is repeated for operand {i} but the sizes don't "
                f"match, {n} != {own[letter]}"
            )
    for letter, n in own.items():
        seen = sizes.setdefault(letter, n)
        if n != seen and 1 not in (n, seen):
            raise RuntimeError(
                f"einsum(): subscript {letter} has size {n} for operand {i} which does not "
                f"broadcast with previously seen size {seen}"
            )
        sizes[letter] = max(n, seen) if n and seen else 0
    for k, n in enumerate(reversed(x.shape[before : before + hidden])):
        if k == len(covered):
            covered.append(n)
        elif n != covered[k] and 1 not in (n, covered[k]):
            raise RuntimeError(
                f"einsum(): dimension {hidden - 1 - k} covered by ellipsis in operand {i}"
                f"has size {n} which does not broadcast with previously seen ellipsis with size "
                f"{covered[k]} for the respective dimension"
            )
        elif covered[k] == 1:
            covered[k] = n


def _check_output(right: str, sizes: dict[str, int]) -> None:
    letters = right.replace("...", "")
    for i, letter in enumerate(letters):
        if letter in letters[:i]:
            raise RuntimeError(
                f"einsum(): output subscript {letter} appears more than once in the output"
            )
        if letter not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any "
                "input operand"
            )


def _check_dtypes(
    terms: Sequence[str], right: str | None, operands: Sequence[Any], sizes: dict[str, int]
) -> None:
    """Refuse dtypes that PyTorch does not promote: it promotes in a product of elements, and not in
    one of matrices, which it makes of two operands, from left to right, where what both have is
    summed."""
    labels = [set(term.replace("...", ".")) for term in terms]
    if right is None:
        text = "".join(terms)
        kept = {letter for letter in text if text.count(letter) == 1} | {"."}
    else:
        kept = set(right.replace("...", "."))
    so_far, kind = labels[0], operands[0].dtype
    for i in range(1, len(terms)):
        needed = kept.union(*labels[i + 1 :])
        summed = {x for x in (so_far & labels[i]) - needed if sizes.get(x) != 1}
        other = operands[i].dtype
        if summed and other != kind:
            raise RuntimeError(
                f"expected scalar type {dtypes.scalar_type(kind)} but found "
                f"{dtypes.scalar_type(other)}"
            )
        so_far = (so_far | labels[i]) & needed
        kind = jnp.promote_types(kind, other)
