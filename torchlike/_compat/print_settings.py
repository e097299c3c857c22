"""``torch._tensor_str``: the settings of printing, and a tensor's values as text."""

from __future__ import annotations

from typing import Any

from torchlike._runtime import printing
from torchlike._runtime.printing import set_printoptions
from torchlike.tensor import Tensor

__all__ = ["PRINT_OPTS", "set_printoptions"]


class _PrintSettings:
    """The settings as attributes, which may be set."""

    def __getattr__(self, name: str) -> Any:
        try:
            return printing.get_printoptions()[name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)  # AttributeError for what is none
        mode = {"sci_mode": printing.get_printoptions()["sci_mode"]}
        printing.set_printoptions(**{**mode, name: value})


PRINT_OPTS = _PrintSettings()


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the brackets and values alone, lines after the first indented by ``indent``."""
    return printing.contents(self.detach()._value("print(tensor)"), self.dtype.name, indent)
