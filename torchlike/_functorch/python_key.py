"""``torch._functorch.python_key``: ``make_fx`` by its older address."""

from torchlike.fx.experimental.proxy_tensor import make_fx as make_fx

__all__ = ["make_fx"]
