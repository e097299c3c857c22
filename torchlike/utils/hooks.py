"""``torch.utils.hooks``: the handle that registering a hook gives."""

from torchlike._core.tape import RemovableHandle

__all__ = ["RemovableHandle"]
