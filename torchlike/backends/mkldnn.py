"""``torch.backends.mkldnn``: XLA brings its own kernels."""

enabled = False


def is_available() -> bool:
    return False
