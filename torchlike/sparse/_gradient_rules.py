"""Which operations on sparse tensors give gradients at places where these have no elements.

Each rule of _rules.py and _compressed_rules.py computes with values, which have its gradient. What
stands here is put around them: products and sums give the whole gradient elsewhere (`spill`), what
only moves or scales elements hands it on (`follow`). All other rules give gradients of values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.dispatch.record import snapshot
from torchlike._core.dispatch.registry import NAMESPACES, OPS
from torchlike._extensions.sparse_array import COMPRESSED_RULES, RULES
from torchlike._ops.linalg import scipy_products
from torchlike.sparse import _compressed_rules, _rules  # noqa: F401
from torchlike.sparse._compressed import CompressedTensor
from torchlike.sparse._elsewhere import (
    Pull,
    as_it_is,
    follow,
    in_coordinates,
    of,
    spill,
    targets,
    through,
    without_history,
)
from torchlike.sparse._geometry import WithoutMemory
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor, add_method

#: Of the operands and statics of an op and the number of an operand: how that one's gradient
#: follows from the result's.
PullOf = Callable[[tuple[Any, ...], int], Pull]


def _always(*args: Any) -> bool:
    return True


#: Operations whose gradients need no operand.
_LINEAR = ("add", "sub", "sum")


def _around(name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wrap the rules for an op."""
    for rules in (RULES, COMPRESSED_RULES):
        if OPS[name].name in rules:
            rules[OPS[name].name] = make(rules[OPS[name].name])


def _kept(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return snapshots of the arguments, which keep their values whatever is written to them
    later."""
    return tuple(snapshot(a) if isinstance(a, Tensor) else a for a in args)


def _spills(
    name: str, grad_name: str, pull_of: PullOf, when: Callable[..., bool] = _always
) -> None:
    """Let an op give whole gradients elsewhere, where ``when`` says so of its arguments."""

    def make(rule: Callable[..., Any]) -> Callable[..., Any]:
        def spilling(*args: Any) -> Any:
            if not when(*args):
                return rule(*args)
            whole = [i for i, a in enumerate(args) if of(a) is not None]
            if not whole:
                return rule(*args)
            result = rule(*(without_history(a) if i in whole else a for i, a in enumerate(args)))
            kept = _kept(args)

            def pull_at(i: int) -> Pull:
                return pull_of(kept, i)

            into, rest = (
                targets([a if (i in whole) is first else None for i, a in enumerate(args)], pull_at)
                for first in (True, False)
            )
            made = spill(grad_name, result, into, rest, keeps=name not in _LINEAR)
            return follow(made, args, pull_at)

        return spilling

    _around(name, make)


def _follows(name: str, pull_of: PullOf, when: Callable[..., bool] = _always) -> None:
    """Let an op hand on what its result is given elsewhere, where ``when`` says so."""

    def make(rule: Callable[..., Any]) -> Callable[..., Any]:
        def following(*args: Any) -> Any:
            result = rule(*args)
            if when(*args) and any(
                isinstance(a, WithoutMemory) and a._elsewhere is not None for a in args
            ):
                kept = _kept(args)
                return follow(result, args, lambda i: pull_of(kept, i))
            return result

        return following

    _around(name, make)


# -- products --------------------------------------------------------------------------------------


def _plain(t: Any) -> Any:
    """Return a sparse tensor in coordinate form, and anything else as it is."""
    return in_coordinates(t) if isinstance(t, WithoutMemory) else t


def _adjoint(t: Any) -> Any:
    t = _plain(t)
    return (t if t.dim() == 1 else t.transpose(-2, -1)).conj()


def _of_first(second: Any) -> Pull:
    """Return the function from the gradient of ``a @ second`` to that of ``a``."""
    if second.dim() == 1:
        return lambda g: g.unsqueeze(-1) * second.conj()
    return lambda g: g @ _adjoint(second)


def _of_second(first: Any) -> Pull:
    """Return the function from the gradient of ``first @ b`` to that of ``b``, a matrix or a batch
    of them."""
    if first.dim() == 1:
        return lambda g: first.conj().unsqueeze(-1) * g
    return lambda g: _adjoint(first) @ g


def _of_product(args: tuple[Any, ...], i: int) -> Pull:
    return _of_second(args[0]) if i else _of_first(args[1])


for _name, _grad in (
    ("matmul", "MmBackward0"),
    ("mm", "MmBackward0"),
    ("mv", "MvBackward0"),
    ("bmm", "BmmBackward0"),
):
    _spills(_name, _grad, _of_product)


def _of_linear(args: tuple[Any, ...], i: int) -> Pull:
    if i == 2:
        return lambda g: g.sum(tuple(range(g.dim() - 1)))
    first, second = (_plain(a) for a in args[:2])
    if i == 0:
        return lambda g: g @ second.conj()
    return lambda g: g.transpose(-2, -1) @ first.conj()


_spills("linear", "LinearBackward0", _of_linear)


def _of_weighted_product(args: tuple[Any, ...], i: int) -> Pull:
    _, mat1, mat2, beta, alpha = args
    if i == 0:
        return lambda g: (g * beta).to_dense().sum_to_size(tuple(args[0].shape))
    pull = _of_second(mat1) if i == 2 else _of_first(mat2)
    return lambda g: pull(g * alpha)


for _name, _grad in (("addmm", "AddmmBackward0"), ("addmv", "AddmvBackward0")):
    _spills(_name, _grad, _of_weighted_product)

for _class in (SparseTensor, CompressedTensor):
    _rules_of = RULES if _class is SparseTensor else COMPRESSED_RULES
    for _name in ("__matmul__", "matmul", "mv"):
        _op = OPS[_name.strip("_")].name
        add_method(_name, scipy_products.directly(_rules_of[_op]), _class)


# -- sums ------------------------------------------------------------------------------------------


def _of_sum_of_two(sign: int) -> PullOf:
    def pull_of(args: tuple[Any, ...], i: int) -> Pull:
        factor = sign * args[2] if i else 1
        return as_it_is if factor == 1 else lambda g: g * factor

    return pull_of


_spills("add", "AddBackward0", _of_sum_of_two(1))
_spills("sub", "SubBackward0", _of_sum_of_two(-1))


def _of_sum(args: tuple[Any, ...], i: int) -> Pull:
    input, dim, keepdim, _ = args
    if dim is None:
        return lambda g: g.expand(tuple(input.shape))
    return through(lambda x: x.sum(dim, keepdim), tuple(input.shape))


_spills("sum", "SumBackward0", _of_sum, lambda input, dim, *_: dim is None)
_follows("sum", _of_sum)


# -- scaled ----------------------------------------------------------------------------------------


def _conjugate(factor: Any) -> Any:
    if isinstance(factor, Tensor):
        return _plain(factor).conj()
    return factor.conjugate() if isinstance(factor, complex) else factor


def _both_sparse(input: Any, other: Any) -> bool:
    return isinstance(input, WithoutMemory) and isinstance(other, WithoutMemory)


def _of_factor(args: tuple[Any, ...], i: int) -> Pull:
    """Return the function from the gradient of a product to that of a factor: at the places of the
    other factor, where that is sparse; a sum for a tensor of one number."""
    other = _conjugate(args[1 - i])
    if not args[i].dim():
        return lambda g: (g * other).sum()
    return lambda g: g * other


def _of_quotient(args: tuple[Any, ...], i: int) -> Pull:
    input, other = map(_conjugate, args)
    if i == 1:
        return lambda g: -(g * input).sum() / (other * other)
    return lambda g: g / other


_spills(
    "mul",
    "MulBackward0",
    _of_factor,
    lambda input, other: _both_sparse(input, other) and input.shape == other.shape,
)
_follows("mul", _of_factor, lambda *args: not _both_sparse(*args))
_follows("div_op", _of_quotient)
_PULLS: dict[str, Pull] = {
    "neg": lambda g: -g,
    "conj_physical": lambda g: g.conj(),
    "deg2rad": lambda g: NAMESPACES[""]["deg2rad"](g),
    "rad2deg": lambda g: NAMESPACES[""]["rad2deg"](g),
    "clone_op": as_it_is,
    "cast_op": as_it_is,
}


def _scaled(name: str, pull: Pull) -> None:
    _follows(name, lambda args, i: pull)


for _name, _pull in _PULLS.items():
    _scaled(_name, _pull)


# -- moved -----------------------------------------------------------------------------------------

_follows(
    "index_select",
    lambda args, _: through(lambda x: x.index_select(args[1], args[2]), tuple(args[0].shape)),
)


def _joined(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a rule that joins tensors: the gradient of each part is cut out of that of the
    whole."""

    def following(tensors: Any, dim: int) -> Any:
        result = rule(tensors, dim)
        lengths = [t.shape[dim] for t in tensors]
        starts = [sum(lengths[:i]) for i in range(len(lengths))]

        def cut(i: int) -> Pull:
            return lambda g: g.to_dense().narrow(dim, starts[i], lengths[i])

        return follow(result, tensors, cut)

    return following


_around("cat_op", _joined)
