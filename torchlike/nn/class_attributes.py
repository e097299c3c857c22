"""Functions of torchlike as class attributes: ``activation = torch.tanh`` in a Module's body.

PyTorch's are builtins, which Python never binds; a function would be called with the module as its
first argument.
"""

from __future__ import annotations

from types import FunctionType

from torchlike._core.dispatch.registry import NAMESPACES


def leave_unbound(cls: type) -> None:
    """Make the ops that a class's body names static: ``self.activation(x)`` is ``tanh(x)``."""
    ops = [
        name
        for name, value in vars(cls).items()
        if type(value) is FunctionType
        and any(space.get(value.__name__) is value for space in NAMESPACES.values())
    ]
    for name in ops:
        setattr(cls, name, staticmethod(vars(cls)[name]))
