"""``torch.utils.deterministic``: what shows that memory was read which nobody had written."""

from __future__ import annotations

import sys
import types

from torchlike._ops.creation import determinism


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``torch.empty`` and its like, and ``resize_``, fill new memory with NaN, an
        integer's largest value or True under ``torch.use_deterministic_algorithms(True)``."""
        return determinism.fills()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        determinism.set_fills(mode)


sys.modules[__name__].__class__ = _Deterministic
