"""``torch.types``: names for annotations."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from torchlike._compat.typed_storage import TypedStorage, UntypedStorage
from torchlike._core.devices import device
from torchlike._core.dtypes import dtype
from torchlike._core.layouts import layout
from torchlike._core.size import Size
from torchlike.tensor import Tensor

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = device | builtins.str | builtins.int | None
FileLike: TypeAlias = Any
Storage: TypeAlias = TypedStorage | UntypedStorage
_dtype, _device, _layout = dtype, device, layout
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = _size
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
