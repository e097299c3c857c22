"""Lazy modules: they find out shapes at the first call, then (the layers) become ordinary ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from torchlike._core import modes
from torchlike.nn.modules import batchnorm, conv, instancenorm, linear
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Lets a module find out the shapes of its parameters at its first call.

    Stands before ``Module`` among the bases. Parameters and buffers of unknown shape are made as
    ``UninitializedParameter`` and ``UninitializedBuffer``. The first call hands its arguments to
    ``initialize_parameters``, which materializes them, and then goes on as usual; RuntimeError
    where one still waits. From then on the module is an instance of ``cls_to_become``, unless that
    is None.
    """

    #: The class that an instance belongs to once it is initialized.
    cls_to_become: type[Module] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _initialized = False

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the uninitialized parameters, from the arguments of the first call:
        subclasses override it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this module, not of its children, is still
        uninitialized."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._initialized:
            self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
            if self.cls_to_become is not None:
                # Once and for all, within a capture too, where Module refuses to exchange classes.
                object.__setattr__(self, "__class__", self.cls_to_become)
            if not isinstance(self, LazyModuleMixin):
                return self(*args, **kwargs)
            self.__dict__["_initialized"] = True
        return super().__call__(*args, **kwargs)  # type: ignore[misc]


class _Lazy(LazyModuleMixin, Module):
    """Makes an ordinary layer of size 0 first; ``_size`` names the argument that is found out."""

    cls_to_become: type[Module]
    _size: str
    #: Which dimension of the input is its size, but for convolutions.
    _input_dim = 1
    #: Defaults that are not the ordinary class's.
    _defaults: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = [
            n
            for n in inspect.signature(self.cls_to_become.__init__).parameters
            if n not in ("self", self._size)
        ]
        arguments = {**self._defaults, **dict(zip(names, args, strict=False)), **kwargs}
        self.__dict__["_lazy_arguments"] = arguments
        # Groups must divide the channels, which are not known yet: any multiple does.
        size = arguments.get("groups", 1)
        self.cls_to_become.__init__(self, **{self._size: size}, **arguments)
        for name, t in list(self._parameters.items()):
            if t is not None:
                waiting = UninitializedParameter(t.requires_grad, t.device, t.dtype)
                self._parameters[name] = waiting
        for name, t in list(self._buffers.items()):
            if t is not None and t.dim() > 0:  # the number of batches is known
                self._buffers[name] = UninitializedBuffer(False, t.device, t.dtype)
        setattr(self, self._size, 0)

    def reset_parameters(self) -> None:
        """Do nothing before the shapes are known: there is nothing to draw."""

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Take the size from an input; parameters and buffers stay the same objects."""
        size = input.shape[self._size_dim(input)]
        waiting = [
            (table, name, t)
            for table in ("_parameters", "_buffers")
            for name, t in getattr(self, table).items()
            if is_lazy(t)
        ]
        if waiting:
            # As the first of them is: they were perhaps converted since.
            _, _, first = waiting[0]
            arguments = {**self._lazy_arguments, "dtype": first.dtype, "device": first.device}
            with modes.outside():  # as if the layer had been made so before a running capture
                made = self.cls_to_become(**{self._size: size}, **arguments)
                for table, name, t in waiting:
                    source = getattr(made, table)[name]
                    t.materialize(source.shape)
                    t.data = source.data
        self.__dict__.pop("_lazy_arguments", None)
        setattr(self, self._size, size)

    def _size_dim(self, input: Any) -> int:
        """Return which dimension of the input is its size. Raises RuntimeError for a convolution's
        input of another number of dimensions."""
        if not isinstance(self, conv._ConvNd):
            return self._input_dim
        n = len(self.kernel_size)
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.dim() - n - 1


def _lazy(
    name: str, ordinary: type[Module], size: str, input_dim: int = 1, **defaults: Any
) -> type:
    return type(
        name,
        (_Lazy, ordinary),
        {
            "cls_to_become": ordinary,
            "_size": size,
            "_input_dim": input_dim,
            "_defaults": MappingProxyType(defaults),
            "__module__": __name__,
            "__doc__": f"{ordinary.__name__} that takes ``{size}`` from its first input.",
        },
    )


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
