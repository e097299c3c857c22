"""Layers that train with a rounded weight: ordinary ones, made so in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torchlike._compat import qschemes
from torchlike.nn import functional as F
from torchlike.nn.modules.conv import Conv1d, Conv2d, Conv3d
from torchlike.nn.modules.linear import Linear
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.sparse import Embedding, EmbeddingBag
from torchlike.nn.parameter import Parameter
from torchlike.nn.utils.parametrize import type_before_parametrizations
from torchlike.tensor import Tensor


class RoundedWeight(Module):
    """An ordinary layer whose weight passes ``weight_fake_quant`` before each use.

    That is the module that ``qconfig.weight()`` makes: it watches the weight's range and rounds it
    to levels, and the gradient passes. AssertionError without a ``qconfig``.
    """

    _FLOAT_MODULE: type[Module]
    #: The ordinary signature with ``qconfig`` where PyTorch has it.
    _arguments: inspect.Signature
    weight: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(self._arguments.bind(*args, **kwargs).arguments)
        qconfig = given.pop("qconfig", None)
        self._FLOAT_MODULE.__init__(self, **given)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self._check_config(qconfig)
        where = {name: given.get(name) for name in ("device", "dtype")}
        self.weight_fake_quant = qconfig.weight(factory_kwargs=where)

    @staticmethod
    def _check_config(qconfig: Any) -> None:
        """Raise where the layer cannot train with what ``qconfig`` makes."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the layer that rounds of an ordinary one with a ``qconfig``; parameters are the
        same objects, a table of rows is on the same memory. AssertionError for another kind of
        layer, and without a ``qconfig``."""
        if type_before_parametrizations(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(cls._other_kind(mod))
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.qconfig:
            raise AssertionError("Input float module must have a valid qconfig")
        return cls._around(mod)

    @classmethod
    def _around(cls, mod: Any) -> Any:
        made = cls(**cls._sizes_of(mod), qconfig=mod.qconfig)
        made.weight, made.bias = mod.weight, mod.bias
        return made

    @classmethod
    def _other_kind(cls, mod: Any) -> str:
        wanted = cls._FLOAT_MODULE.__name__
        return f"qat.{cls.__name__}.from_float only works for {wanted}, got {type(mod).__name__}"

    @classmethod
    def _sizes_of(cls, mod: Any) -> dict[str, Any]:
        """Return the arguments that make a layer as ``mod`` is, but for its numbers."""
        left_out = ("qconfig", "device", "dtype", "_weight")
        names = [n for n in cls._arguments.parameters if n not in left_out]
        return {n: mod.bias is not None if n == "bias" else getattr(mod, n) for n in names}

    def to_float(self) -> Any:
        """Return the ordinary layer, on the memory of weight and bias."""
        made = self._FLOAT_MODULE(**self._sizes_of(self))
        made.weight = Parameter(self.weight.detach())
        if self._parameters.get("bias") is not None:
            made.bias = Parameter(self.bias.detach())
        made.train(self.training)
        return made


class _RoundedRows(RoundedWeight):
    """A table of rows, whose zero points are floats."""

    @staticmethod
    def _check_config(qconfig: Any) -> None:
        qscheme = qconfig.weight().qscheme
        if qscheme != qschemes.per_channel_affine_float_qparams:
            raise AssertionError(
                "Embedding weights requires a qscheme of "
                f"torch.per_channel_affine_float_qparams Got {qscheme}"
            )

    @classmethod
    def _around(cls, mod: Any) -> Any:
        return cls(**cls._sizes_of(mod), _weight=mod.weight, qconfig=mod.qconfig)

    @classmethod
    def _other_kind(cls, mod: Any) -> str:
        return f" qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}"


def _linear(self: Any, input: Tensor) -> Tensor:
    return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


def _convolve(self: Any, input: Tensor) -> Tensor:
    return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


def _embed(self: Any, input: Tensor) -> Tensor:
    return F.embedding(
        input,
        self.weight_fake_quant(self.weight),
        self.padding_idx,
        self.max_norm,
        self.norm_type,
        self.scale_grad_by_freq,
        self.sparse,
    )


def _embed_bags(
    self: Any, input: Tensor, offsets: Any = None, per_sample_weights: Any = None
) -> Tensor:
    return F.embedding_bag(
        input,
        self.weight_fake_quant(self.weight),
        offsets,
        self.max_norm,
        self.norm_type,
        self.scale_grad_by_freq,
        self.mode,
        self.sparse,
        per_sample_weights,
        self.include_last_offset,
        self.padding_idx,
    )


def _signature(ordinary: type[Module]) -> inspect.Signature:
    """Return the ordinary layer's arguments and ``qconfig``: before the device, or last."""
    given = inspect.signature(ordinary).parameters
    names = [name for name in given if name != "_freeze"]
    parameters = [given[name] for name in names]
    at = len(names) if ordinary is Embedding else names.index("device")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters.insert(at, inspect.Parameter("qconfig", kind, default=None))
    return inspect.Signature(parameters)


def rounded(
    ordinary: type[Module], forward: Callable[..., Tensor], kind: type = RoundedWeight
) -> Any:
    """Return the class of layers like ``ordinary`` whose weight is rounded."""
    arguments = _signature(ordinary)
    return type(
        ordinary.__name__,
        (kind, ordinary),
        {
            "_FLOAT_MODULE": ordinary,
            "_arguments": arguments,
            "__signature__": arguments,
            "forward": forward,
            "__module__": "torchlike.ao.nn.qat",
            "__doc__": f"``nn.{ordinary.__name__}`` that trains with its weight rounded to levels,"
            " by the module that ``qconfig.weight()`` makes. AssertionError without ``qconfig``.",
        },
    )


CLASSES: dict[str, Any] = {
    "Linear": rounded(Linear, _linear),
    "Conv1d": rounded(Conv1d, _convolve),
    "Conv2d": rounded(Conv2d, _convolve),
    "Conv3d": rounded(Conv3d, _convolve),
    "Embedding": rounded(Embedding, _embed, _RoundedRows),
    "EmbeddingBag": rounded(EmbeddingBag, _embed_bags, _RoundedRows),
}
