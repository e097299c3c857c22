"""PyTorch's old signatures, in which numbers stand before the tensors: ``addcmul(x, value, a, b)``.

They work, and are told of once.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core import errors
from torchlike._core.casts import NUMBERS


def tell(
    op: str, names: Sequence[str], args: Sequence[object], numbers: Sequence[str], of_method: bool
) -> None:
    """Warn of a call of ``op``: its arguments are tensors, by ``names``, and ``numbers``. The first
    tensor is not shown of a method."""
    tensors, rest = iter(names), iter(numbers)
    old = [
        f"Number {next(rest)}" if type(a) in NUMBERS else f"Tensor {next(tensors)}" for a in args
    ]
    count = sum(type(a) not in NUMBERS for a in args)
    today = [f"Tensor {n}" for n in names[:count]]
    defaults = [f"Number {n} = 1" for n in names[count:]]
    if of_method:
        old, today = old[1:], today[1:]
    else:
        old, defaults = [*old, "*", "Tensor out = None"], [*defaults, "Tensor out = None"]
    errors.warn_user_once(
        f"This overload of {op} is deprecated:\n\t{op}({', '.join(old)})\nConsider using one of "
        f"the following signatures instead:\n\t{op}({', '.join([*today, '*', *defaults])})"
    )
