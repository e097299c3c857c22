"""``torch.backends.cusparselt``: there is no cuSPARSELt to ask."""

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> None:
    """Return None."""


def is_available() -> bool:
    """Return False."""
    return False


def get_max_alg_id() -> None:
    """Return None."""
