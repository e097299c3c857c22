"""What device types mean in a script that names some, and in the processes that it starts."""

from __future__ import annotations

import os

from torchlike._core import devices
from torchlike._runtime import platforms
from torchlike._runtime.environment_variables import CARD, DEVICE_MAP
from torchlike.random.cuda import cards


def set_for_children(mapping: dict[str, str]) -> None:
    """Leave a map, {"cuda": "cpu"}, to this process and to those started from now on."""
    os.environ[DEVICE_MAP.name] = ",".join(f"{name}={other}" for name, other in mapping.items())


def set_card_for_children(card: str) -> None:
    """Leave a card's name, "A100", to this process and to those started from now on."""
    os.environ[CARD.name] = card


def apply() -> None:
    """Map device types as the environment says; nothing where it says nothing.

    Raises:
        ValueError: it names a type that is not PyTorch's, or is not written as ``cuda=cpu``; or
            ``TORCHLIKE_CARD`` names no card.
    """
    for name in CARD.get():
        cards.set_card(name)
    mapping = {}
    for part in DEVICE_MAP.get():
        name, _, other = (text.strip() for text in part.partition("="))
        if not name or not other:
            raise ValueError(f"{DEVICE_MAP.name} says {part!r}; write it as cuda=cpu")
        mapping[name] = other
    if mapping.get("cuda") == "cpu" and CARD.get():
        # What is drawn on "cuda" and on the CPU are two streams: the two have to be told apart.
        platforms.stand_for_gpu()
        del mapping["cuda"]
    if mapping:
        devices.map_types(mapping)
