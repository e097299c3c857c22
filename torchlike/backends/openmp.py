"""``torch.backends.openmp``: XLA has its own threads."""


def is_available() -> bool:
    return False
