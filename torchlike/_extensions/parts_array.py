"""What the cell of a nested or a masked tensor holds: values, and tensors that say what they are.

Compiled functions refuse it as they refuse a sparse array. Public functions do not reach them: its
tensors' classes answer to ``__torch_function__`` (torchlike/nested, torchlike/masked).
"""

from __future__ import annotations

from typing import Any

from torchlike._core.cells import StandIn


class PartsArray(StandIn):
    """``held``, a tensor of values; ``parts``, other tensors; ``facts``, whatever else the class of
    tensors wants to know."""

    __slots__ = ("facts", "held", "parts")

    def __init__(self, held: Any, parts: tuple[Any, ...], shape: Any, facts: Any) -> None:
        self.held, self.parts, self.facts = held, parts, facts
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.held.dtype.numpy

    def __reduce__(self) -> tuple[Any, ...]:
        return PartsArray, (self.held, self.parts, self.shape, self.facts)

    def tensors(self) -> tuple[Any, ...]:
        """Return the tensors of which the array consists."""
        return (self.held, *self.parts)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(refusal("this operation"))

    __array__ = __getitem__ = astype = reshape = __jax_array__ = _refuse


def refusal(
    what: str, called: str = "nested and masked tensors", instead: str = "its values()"
) -> str:
    """Return the message for something that does not know tensors of a kind."""
    return f"{what} is not written for {called}: use {instead} first"
