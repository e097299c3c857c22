"""``torch.backends.cudnn``: accepted flags without effect."""

from torchlike.cuda import is_available

benchmark = False
deterministic = True  # XLA's own choice, whatever the flag says
enabled = True
allow_tf32 = False
benchmark_limit = 10


def version() -> None:
    """There is no cuDNN of ours to ask."""


__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled",
           "is_available", "version"]  # fmt: skip
