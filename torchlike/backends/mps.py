"""``torch.backends.mps``: JAX's Metal backend is not supported."""


def is_available() -> bool:
    return False


is_built = is_available
