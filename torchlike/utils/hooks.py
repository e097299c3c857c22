"""``torch.utils.hooks``: the handle that registering a hook gives."""

from torchlike.tape import RemovableHandle

__all__ = ["RemovableHandle"]
