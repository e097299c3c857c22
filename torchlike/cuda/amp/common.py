"""Whether autocast and scaling can do anything on a GPU here."""

from torchlike._core import devices

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """True without a GPU."""
    return not devices.available("cuda")
