"""``torch.cuda.FloatTensor`` and its kin: constructors on the GPU."""

from __future__ import annotations

from typing import Any

from torchlike._compat.tensor_types import TENSOR_TYPES as _ON_CPU
from torchlike._compat.tensor_types import DenseTensorType
from torchlike.cuda._device import is_available


class CudaTensorType(DenseTensorType):
    """As DenseTensorType, on the GPU. TypeError without one."""

    device_type = "cuda"

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if not is_available():
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled "
                "with CUDA enabled."
            )
        return super().__call__(*args, device="cuda" if device is None else device)

    def __instancecheck__(cls, instance: Any) -> Any:
        return super().__instancecheck__(instance) and instance.device.type == "cuda"

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


def _type_of(name: str, kind: DenseTensorType) -> CudaTensorType:
    said = f"Makes a tensor of {kind.dtype} on the GPU. TypeError without one."
    facts = {"dtype": kind.dtype, "__module__": "torchlike.cuda", "__doc__": said}
    return CudaTensorType(name, (), facts)


TENSOR_TYPES = {name: _type_of(name, kind) for name, kind in _ON_CPU.items()}
