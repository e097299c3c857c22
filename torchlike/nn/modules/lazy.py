"""Lazy layers: they find out their input's size at the first call, then become ordinary ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from torchlike.nn.modules import batchnorm, conv, instancenorm, linear
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import UninitializedParameter, is_lazy
from torchlike.tensor import Tensor


class _Lazy(Module):
    """Makes an ordinary layer of size 0 first; ``_size`` names the argument that is found out."""

    #: The ordinary class that an instance becomes.
    cls_to_become: type[Module]
    _size: str
    #: Which dimension of the input is its size.
    _input_dim = 1
    #: Defaults that are not the ordinary class's.
    _defaults: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = [n for n in inspect.signature(self.cls_to_become.__init__).parameters
                 if n not in ("self", self._size)]  # fmt: skip
        arguments = {**self._defaults, **dict(zip(names, args, strict=False)), **kwargs}
        self.__dict__["_lazy_arguments"] = arguments
        # Groups must divide the channels, which are not known yet: any multiple does.
        size = arguments.get("groups", 1)
        self.cls_to_become.__init__(self, **{self._size: size}, **arguments)
        for name, parameter in list(self._parameters.items()):
            if parameter is not None:
                waiting = UninitializedParameter(
                    parameter.requires_grad, parameter.device, parameter.dtype
                )
                self._parameters[name] = waiting
        setattr(self, self._size, 0)

    def reset_parameters(self) -> None:
        """Nothing is drawn before the shapes are known."""

    def has_uninitialized_params(self) -> bool:
        """Whether the layer still waits for its first input."""
        return "_lazy_arguments" in self.__dict__

    def initialize_parameters(self, input: Any) -> None:
        """Take the size from an input; parameters stay the same objects."""
        self._check_dims(input)
        size = input.shape[self._input_dim]
        waiting = {n: p for n, p in self._parameters.items() if is_lazy(p)}
        if waiting or not any(p is not None for p in self._parameters.values()):
            arguments = dict(self._lazy_arguments)
            for parameter in waiting.values():  # perhaps converted since
                arguments |= {"dtype": parameter.dtype, "device": parameter.device}
            made = self.cls_to_become(**{self._size: size}, **arguments)
            for name, parameter in waiting.items():
                parameter.materialize(made._parameters[name].shape)
                parameter.data = made._parameters[name].data
            for name, buffer in made._buffers.items():
                own = self._buffers[name]
                # One of the right size may have come from a checkpoint.
                if own is None or buffer is None:
                    self._buffers[name] = buffer
                elif own.shape != buffer.shape:
                    self._buffers[name] = buffer.to(own.device, own.dtype)
        setattr(self, self._size, size)

    def _check_dims(self, input: Any) -> None:
        """RuntimeError for a convolution's input of another number of dimensions."""
        if not isinstance(self, conv._ConvNd):
            return
        n = len(self.kernel_size)
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Running statistics take the checkpoint's size, as parameters do."""
        for name, buffer in self._buffers.items():
            given = state_dict.get(prefix + name)
            if buffer is not None and isinstance(given, Tensor) and given.shape != buffer.shape:
                self._buffers[name] = buffer.new_zeros(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args, **kwargs)
        del self.__dict__["_lazy_arguments"]
        # Once and for all, within a capture too, where Module refuses to exchange classes.
        object.__setattr__(self, "__class__", self.cls_to_become)
        return self(*args, **kwargs)


def _lazy(name: str, ordinary: type[Module], size: str, input_dim: int = 1, **defaults: Any) -> Any:
    return type(name, (_Lazy, ordinary), {
        "cls_to_become": ordinary, "_size": size, "_input_dim": input_dim,
        "_defaults": MappingProxyType(defaults),
        "__module__": __name__,
        "__doc__": f"{ordinary.__name__} that takes ``{size}`` from its first input.",
    })  # fmt: skip


#: PyTorch's lazy instance norms are affine and keep statistics, unlike the ordinary ones.
_TRACKING = {"affine": True, "track_running_stats": True}

LazyLinear = _lazy("LazyLinear", linear.Linear, "in_features", -1)
LazyConv1d = _lazy("LazyConv1d", conv.Conv1d, "in_channels")
LazyConv2d = _lazy("LazyConv2d", conv.Conv2d, "in_channels")
LazyConv3d = _lazy("LazyConv3d", conv.Conv3d, "in_channels")
LazyConvTranspose1d = _lazy("LazyConvTranspose1d", conv.ConvTranspose1d, "in_channels")
LazyConvTranspose2d = _lazy("LazyConvTranspose2d", conv.ConvTranspose2d, "in_channels")
LazyConvTranspose3d = _lazy("LazyConvTranspose3d", conv.ConvTranspose3d, "in_channels")
LazyBatchNorm1d = _lazy("LazyBatchNorm1d", batchnorm.BatchNorm1d, "num_features")
LazyBatchNorm2d = _lazy("LazyBatchNorm2d", batchnorm.BatchNorm2d, "num_features")
LazyBatchNorm3d = _lazy("LazyBatchNorm3d", batchnorm.BatchNorm3d, "num_features")
LazyInstanceNorm1d = _lazy(
    "LazyInstanceNorm1d", instancenorm.InstanceNorm1d, "num_features", **_TRACKING
)
LazyInstanceNorm2d = _lazy(
    "LazyInstanceNorm2d", instancenorm.InstanceNorm2d, "num_features", **_TRACKING
)
LazyInstanceNorm3d = _lazy(
    "LazyInstanceNorm3d", instancenorm.InstanceNorm3d, "num_features", **_TRACKING
)
