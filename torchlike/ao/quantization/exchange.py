"""``quantize_dynamic``: linear layers and LSTMs with weights of int8."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from typing import Any

from torchlike import nn
from torchlike._core import dtypes
from torchlike._extensions import absent_dtypes
from torchlike._runtime.lazy import LazyModule
from torchlike.ao.quantization.qconfig import default_dynamic_qconfig
from torchlike.nn.modules.module import Module

#: Its layers import observers, and so this package.
dynamic: Any = LazyModule("torchlike.ao.nn.quantized.dynamic")


@functools.cache
def _mapping() -> dict[type, Any]:
    return {nn.Linear: dynamic.Linear, nn.LSTM: dynamic.LSTM}


#: Of these PyTorch makes layers of int8 too; the first by default.
_RECURRENT = (nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
_ABSENT = (*_RECURRENT, nn.EmbeddingBag, nn.Embedding)


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: Any = absent_dtypes.DTYPES["qint8"],
    mapping: dict[type, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """Return a copy of a model (the model itself with ``inplace``) in evaluation mode, whose
    submodules ``nn.Linear`` and ``nn.LSTM`` have weights of int8 and quantize their inputs as they
    come.

    qconfig_spec: types or names of submodules, as a set or with a ``QConfig`` each; both types
      unless given.
    mapping: which class is made of which; its ``from_float`` is called.

    NotImplementedError for other dtypes than ``torch.qint8`` and for other recurrent layers and
    embeddings that ``qconfig_spec`` names.
    """
    if dtype is not absent_dtypes.DTYPES["qint8"]:
        raise NotImplementedError(
            f"torch.ao.quantization.quantize_dynamic: weights of {dtype} are not there. Use "
            "instead: torchao, or model.to(torch.bfloat16)."
            if isinstance(dtype, (dtypes.dtype, absent_dtypes.AbsentDtype))
            else f"Don't know how to quantize with default settings for {dtype}. "
            "Provide full qconfig please"
        )
    table = _mapping() if mapping is None else mapping
    if qconfig_spec is None:
        qconfig_spec = (*_mapping(), *_RECURRENT)
    if not isinstance(qconfig_spec, dict):
        qconfig_spec = dict.fromkeys(_listed(qconfig_spec), default_dynamic_qconfig)
    made = model if inplace else copy.deepcopy(model)
    made.eval()
    _exchange(made, "", None, qconfig_spec, table)
    return made


def _listed(spec: Any) -> Iterable[Any]:
    return spec if isinstance(spec, (set, frozenset, list, tuple)) else (spec,)


def _exchange(module: Module, prefix: str, inherited: Any, spec: Any, table: Any) -> None:
    """Exchange the children of a module that a QConfig is given for, by name or by type."""
    inherited = spec.get(type(module), spec.get(prefix, inherited))
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        path = f"{prefix}.{name}" if prefix else name
        config = spec.get(type(child), spec.get(path, inherited))
        if config is not None and type(child) in table:
            child.qconfig = config
            module._modules[name] = table[type(child)].from_float(child)
        elif config is not None and type(child) in _ABSENT:
            raise NotImplementedError(
                f"torch.ao.quantization.quantize_dynamic: {type(child).__name__} is not there. "
                "Use instead: torchao, or name the types to quantize in qconfig_spec."
            )
        else:
            _exchange(child, path, config, spec, table)
