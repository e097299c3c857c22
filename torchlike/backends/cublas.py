"""``torch.backends.cuda.matmul``: the bits that products keep, and switches that nothing asks."""

from __future__ import annotations

from typing import Any

from torchlike._compat.settings import (
    get_float32_matmul_precision,
    set_float32_matmul_precision,
)

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
    """Switches with PyTorch's names and defaults. ``allow_tf32`` and ``fp32_precision`` are
    ``set_float32_matmul_precision`` in other words: True and "tf32" are "high".

    Differs from PyTorch: the others keep what they are given, and change no product.
    """

    _values: dict[str, Any]

    def __init__(self) -> None:
        values: dict[str, Any] = {name: True for pair in _REDUCTIONS.values() for name in pair}
        values.update(said_fp32=False, allow_fp16_accumulation=False)
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return get_float32_matmul_precision() != "highest"
        if name == "fp32_precision":
            if get_float32_matmul_precision() != "highest":
                return "tf32"
            return "ieee" if self._values["said_fp32"] else "none"
        if name not in self._values:
            raise AttributeError(f"Unknown attribute {name}")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            self._set_precision("tf32" if value else "ieee")
        elif name in _REDUCTIONS:
            self._values.update(zip(_REDUCTIONS[name], _pair(name, value), strict=True))
        elif name == "fp32_precision":
            if value not in _PRECISIONS:
                raise RuntimeError(f"Unknown precision: {value}")
            self._set_precision(value)
        elif name == "allow_fp16_accumulation":
            self._values[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")

    def _set_precision(self, precision: str) -> None:
        self._values["said_fp32"] = precision != "none"
        set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def _pair(name: str, value: Any) -> tuple[bool, bool]:
    """Check a setting ``True`` or ``(True, False)``, and return whether to reduce in fewer bits,
    and whether to split."""
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
