"""The behaviours in which torchlike differs from PyTorch, by area, each with the reason."""

from __future__ import annotations

DIFFERENCES: dict[str, dict[str, str]] = {
}
