"""What ``torch.backends.cuda.matmul`` keeps: switches of cuBLAS, which XLA does not ask."""

from __future__ import annotations

from typing import Any

#: "fp16" and "bf16": reduced precision in reductions, and splitting along k.
_REDUCTIONS = {
    f"allow_{kind}_reduced_precision_reduction": (
        f"allow_{kind}_reduced_precision_reduction",
        f"allow_{kind}_reduced_precision_reduction_split_k",
    )
    for kind in ("fp16", "bf16")
}
_PRECISIONS = ("none", "ieee", "tf32")


class cuBLASModule:
    """Switches that keep what they are given, with PyTorch's names and defaults.

    Differs from PyTorch: they change no product, and not ``get_float32_matmul_precision()``. How
    many bits float32 products keep on an accelerator says ``set_float32_matmul_precision``.
    """

    _values: dict[str, Any]

    def __init__(self) -> None:
        values: dict[str, Any] = {name: True for pair in _REDUCTIONS.values() for name in pair}
        values.update(fp32_precision="none", allow_fp16_accumulation=False)
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return self._values["fp32_precision"] == "tf32"
        if name not in self._values:
            raise AttributeError(f"Unknown attribute {name}")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            self._values["fp32_precision"] = "tf32" if value else "ieee"
        elif name in _REDUCTIONS:
            self._values.update(zip(_REDUCTIONS[name], _pair(name, value), strict=True))
        elif name == "fp32_precision":
            if value not in _PRECISIONS:
                raise RuntimeError(f"Unknown precision: {value}")
            self._values[name] = value
        elif name == "allow_fp16_accumulation":
            self._values[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


def _pair(name: str, value: Any) -> tuple[bool, bool]:
    """``True`` or ``(True, False)``: whether to reduce in fewer bits, and whether to split."""
    if isinstance(value, bool):
        return value, True
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)!r}")
    if not value:
        raise TypeError(f"{name} expects at least one boolean argument")
    if len(value) > 2:
        raise TypeError(f"{name} expects at most two boolean arguments")
    for part, what in zip(value, ("allow_reduced_precision", "allow_splitk"), strict=False):
        if not isinstance(part, bool):
            raise TypeError(f"{name} expects a bool for {what}, but got {type(part)!r}")
    reduced, split = (*value, True)[:2]
    return reduced, split
