"""``torch.storage``: the storages that users see."""

from torchlike._compat.typed_storage import TypedStorage
from torchlike._core.untyped_storage import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
