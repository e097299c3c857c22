"""What "the same" means: PyTorch's own tolerances, dtype by dtype."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import DecorateInfo

import torchlike

from .convert import dtype_of, torch_of
from .deviations import NORMWISE, WIDER


def tolerances(info: Any, dtype: torch.dtype) -> tuple[float, float]:
    """(rtol, atol) for results of ``dtype``: assert_close's, the entry's own, or ours."""
    rtol, atol = default_tolerances(dtype)
    for decorator in info.decorators:
        if not isinstance(decorator, DecorateInfo) or decorator.device_type not in (None, "cpu"):
            continue
        for override in decorator.decorators:
            if isinstance(override, toleranceOverride) and dtype in override.d:
                rtol = max(rtol, override.d[dtype].rtol)
                atol = max(atol, override.d[dtype].atol)
    for name in (info.full_name, info.name):
        wider = WIDER.get((name, str(dtype).removeprefix("torch.")))
        if wider is not None:
            rtol, atol = max(rtol, wider[0]), max(atol, wider[1])
    return rtol, atol


_at_least: list[torch.dtype] = []


@contextlib.contextmanager
def tolerance_of(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Inside, tolerances are no tighter than those of these tensors' dtypes.

    A float32 result written into a float64 ``out=`` was still computed in float32.
    """
    _at_least[:] = [t.dtype for t in tensors]
    try:
        yield
    finally:
        _at_least.clear()


def tensors_in(value: Any) -> Iterator[Any]:
    """Every tensor of either framework in a result, in order."""
    if isinstance(value, (torch.Tensor, torchlike.Tensor)):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v)
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from tensors_in(v)


def same(ours: Any, theirs: Any, info: Any, *, values: bool = True, where: str = "result") -> None:
    """AssertionError unless the two results agree in structure, dtype, shape and values."""
    if isinstance(theirs, torch.Tensor) and theirs.layout is not torch.strided:
        same(ours.to_dense(), theirs.to_dense(), info, values=values, where=where)
    elif isinstance(theirs, torch.Tensor):
        assert isinstance(ours, torchlike.Tensor), f"{where}: {type(ours).__name__}, not a Tensor"
        assert ours.dtype is dtype_of(theirs.dtype), f"{where}: {ours.dtype}, not {theirs.dtype}"
        assert tuple(ours.shape) == tuple(theirs.shape), (
            f"{where}: shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
        )
        if values:
            _close(torch_of(ours), theirs.detach(), info, where)
    elif isinstance(theirs, (tuple, list)) and not isinstance(theirs, torch.Size):
        assert isinstance(ours, (tuple, list)), f"{where}: {type(ours).__name__}, not a sequence"
        assert len(ours) == len(theirs), f"{where}: {len(ours)} results, not {len(theirs)}"
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, info, values=values, where=f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), f"{where}: other keys"
        for key in theirs:
            same(ours[key], theirs[key], info, values=values, where=f"{where}[{key!r}]")
    elif isinstance(theirs, (float, complex)) and not isinstance(theirs, bool):
        assert type(ours) is type(theirs), f"{where}: {ours!r}, not {theirs!r}"
        _close(torch.tensor(ours), torch.tensor(theirs), info, where)
    elif isinstance(theirs, torch.Size):
        assert tuple(ours) == tuple(theirs), f"{where}: {ours!r}, not {theirs!r}"
    elif theirs is None or isinstance(theirs, (bool, int, str)):
        assert ours == theirs, f"{where}: {ours!r}, not {theirs!r}"
        assert type(ours) is type(theirs), f"{where}: {ours!r}, not {theirs!r}"
    else:
        assert type(ours).__name__ == type(theirs).__name__, f"{where}: {ours!r}, not {theirs!r}"


def _close(ours: torch.Tensor, theirs: torch.Tensor, info: Any, where: str) -> None:
    theirs = theirs.resolve_conj().resolve_neg()
    found = [tolerances(info, d) for d in (theirs.dtype, *_at_least)]
    rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    if (
        info.name in NORMWISE
        and theirs.numel()
        and theirs.dtype.is_floating_point | theirs.is_complex()
    ):
        size = theirs.abs().nan_to_num(posinf=0).max().item()
        steps = 1 if theirs.element_size() == 2 else 8
        floats = [d for d in (theirs.dtype, *_at_least) if d.is_floating_point or d.is_complex]
        atol = max(atol, steps * max(torch.finfo(d).eps for d in floats) * size)
    torch.testing.assert_close(
        ours,
        theirs,
        rtol=rtol,
        atol=atol,
        equal_nan=True,
        check_stride=False,
        msg=lambda m: f"{where}: {m}",
    )
