"""``torch.backends.kleidiai``: XLA brings its own kernels."""


def is_available() -> bool:
    """Return False: nothing is computed by KleidiAI."""
    return False
