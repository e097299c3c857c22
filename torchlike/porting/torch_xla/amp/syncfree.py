"""``torch_xla.amp.syncfree``: the plain optimizers. Those of torch_xla skip steps of infinite
gradients without asking the host, which only float16 has."""

from __future__ import annotations

from torchlike.optim import SGD, Adam, AdamW

__all__ = ["SGD", "Adam", "AdamW"]
