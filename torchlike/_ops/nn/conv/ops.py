"""conv1d to conv3d and their transposes: arguments and errors (convolution.py computes)."""

from __future__ import annotations

import math
import operator
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Input, Int, IntOrInts, Kind, OptInput, ints
from torchlike._core.dtypes import c_name
from torchlike._ops import checks
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.memory_order import of_any
from torchlike._ops.nn.conv.convolution import convolution, transposed
from torchlike._ops.nn.pool.windows import fitting
from torchlike.tensor import Tensor

_SPACES = ("", "nn.functional")
# -- arguments -------------------------------------------------------------------------------------

#: A padding argument: a number, one for each dimension, or "same" / "valid".
_Padding = Annotated[
    Any, Kind("int, tuple of ints or str", lambda v: v if isinstance(v, str) else int_or_ints(v))
]


def int_or_ints(value: Any) -> Any:
    """Return an int, or a tuple of ints. TypeError for anything else."""
    return operator.index(value) if hasattr(value, "__index__") else ints(value)


def _expanded(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Return one value for each of n spatial dimensions, from one for all or a list of n."""
    given = value if isinstance(value, int) else list(value)
    return checks.per_dimension(
        value,
        n,
        f"expected {name} to be a single integer value or a list of {n} values to match the "
        f"convolution dimensions, but got {name}={given}",
    )


def _check_common(
    x: Any,
    weight: Any,
    bias: Any,
    n: int,
    name: str,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> None:
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(x.shape)}"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 2}-dimensional weight for {n}-dimensional {name}, but got weight of "
            f"size {list(weight.shape)}"
        )
    if x.dtype != weight.dtype:
        kinds = f"torch.{scalar_type_of(x)}Tensor", f"torch.{scalar_type_of(weight)}Tensor"
        raise RuntimeError(
            f"Input type ({kinds[0]}) and weight type ({kinds[1]}) should be the same or input "
            "should be a MKLDNN tensor and weight is a dense tensor"
        )
    if bias is not None and bias.dtype != x.dtype:
        found = [c_name(t.dtype) for t in (x, bias)]
        raise RuntimeError(f"Input type ({found[0]}) and bias type ({found[1]}) should be the same")
    if x.dtype == np.bool_:
        raise NotImplementedError(f"\"slow_{name}_cpu\" not implemented for 'Bool'")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("non-positive dilation is not supported")


def _check_bias(bias: Any, channels: int, weight: Any, given: str) -> None:
    if bias is not None and bias.shape != (channels,):
        size = list(bias.shape) if bias.ndim != 1 else f"[{bias.shape[0]}]"
        raise RuntimeError(
            f"Given {given}weight of size {list(weight.shape)}, expected bias to be 1-dimensional "
            f"with {channels} elements, but got bias of size {size} instead"
        )


def _check_groups(weight: Any, groups: int) -> None:
    """Refuse, with RuntimeError, a first dimension of the weight that the groups cannot share."""
    first = weight.shape[0]
    if first < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight.shape)} instead"
        )
    if first % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight.shape)}] instead"
        )


def _check_channels(x: Any, weight: Any, groups: int) -> None:
    """Refuse, with RuntimeError, channels that do not fit a forward convolution; ``x`` batched."""
    per_group = weight.shape[1]
    _check_groups(weight, groups)
    if x.shape[1] != per_group * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input"
            f"{list(x.shape)} to have {per_group * groups} channels, but got {x.shape[1]} channels "
            "instead"
        )


def _paddings(
    padding: Any, n: int, weight: Any, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return the low and high padding of each spatial dimension, from numbers, "same" or
    "valid"."""
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * n
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=False)]
        if any(t % 2 for t in totals):
            errors.warn_user_once(
                "Using padding='same' with even kernel lengths and odd dilation may require a "
                "zero-padded copy of the input be created"
            )
        # An odd total puts the surplus at the end.
        return [(t // 2, t - t // 2) for t in totals]
    return [(p, p) for p in _expanded(padding, n, "padding")]


def _check_kernel(kernel: tuple[int, ...]) -> None:
    if math.prod(kernel):
        return
    if len(kernel) == 3:
        found = f": {_by(kernel)} (TxHxW)"
    else:  # PyTorch computes one dimension as two
        height, width = kernel if len(kernel) == 2 else (1, *kernel)
        found = f" kernel_height: {height} kernel_width: {width}"
    raise RuntimeError(f"kernel size should be greater than zero, but got{found}")


def _with_bias(y: Any, bias: Any) -> jax.Array:
    return y if bias is None else y + bias.reshape((-1,) + (1,) * (y.ndim - 2))


# -- conv1d, conv2d, conv3d ------------------------------------------------------------------------


def _of_volumes(result: Any, operands: Any, spec: Any, statics: Any) -> None:
    """Set the memory order of a result of three dimensions: PyTorch has a kernel that knows
    channels last, and takes another, whose results are row-major, for float64 and for single small
    volumes."""
    x, weight = operands[0], operands[1]._geometry.size
    size = x._geometry.size if x.dim() == 5 else (1, *x._geometry.size)
    grouped = statics[-2 if "transpose" in spec.name else -1] > 1
    large = grouped or min(weight[-2:]) > 3 or size[0] > 1 or math.prod(size[:4]) > 20480
    if x.dtype is dtypes.float64 or x.is_complex() or not large:
        return
    of_any(result, operands if x.dim() == 5 else operands[1:2], spec, statics)


def _register_conv(n: int) -> None:
    name = f"conv{n}d"

    def pure(
        input: Input,
        weight: Input,
        bias: OptInput = None,
        stride: IntOrInts = 1,
        padding: _Padding = 0,
        dilation: IntOrInts = 1,
        groups: Int = 1,
    ):
        stride, dilation = _expanded(stride, n, "stride"), _expanded(dilation, n, "dilation")
        numbers = () if isinstance(padding, str) else _expanded(padding, n, "padding")
        _check_common(input, weight, bias, n, name, stride, numbers, dilation, groups)
        pads = _paddings(padding, n, weight, stride, dilation)
        x = input if input.ndim == n + 2 else input[None]
        _check_channels(x, weight, groups)
        _check_bias(bias, weight.shape[0], weight, "")
        padded = [s + sum(p) for s, p in zip(x.shape[2:], pads, strict=True)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:], strict=True)]
        if any(r > p for r, p in zip(reach, padded, strict=True)):
            raise RuntimeError(
                f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: "
                f"({_by(reach)}). Kernel size can't be greater than actual input size"
            )
        if x.shape[1] == 0:  # no channels give none
            sizes = fitting(padded, weight.shape[2:], stride, dilation)
            y = jnp.zeros((x.shape[0], 0, *sizes), x.dtype)
        else:
            _check_kernel(weight.shape[2:])
            y = _with_bias(convolution(x, weight, stride, pads, dilation, groups), bias)
        return y if input.ndim == n + 2 else y[0]

    pure.__doc__ = f"""Compute the cross-correlation over {n} spatial
    dimension{"s" if n > 1 else ""}.

    input: (N, C, …) or (C, …); weight: (O, C / groups, …); bias: (O,). ``padding`` is a number, one
    for each dimension, "same" (stride 1) or "valid". RuntimeError for sizes that do not fit.
    """
    op(
        name,
        namespaces=_SPACES,
        method=False,
        autocast="low",
        one_object=True,
        memory_order=_of_volumes if n == 3 else of_any,
        grad_name="ConvolutionBackward0",
        saved_names={"input": "input"},
        needs={"input": ["weight"], "weight": ["input"], "bias": []},
    )(pure)


def _by(sizes: Any) -> str:
    return " x ".join(str(s) for s in sizes)


# -- transposed ------------------------------------------------------------------------------------


_AXES = {2: ("height", "width"), 3: ("depth", "height", "width")}


def _check_output_padding(n: int, output_padding: Any, stride: Any, dilation: Any) -> None:
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        groups = (
            ("output_padding", output_padding, 0),
            ("stride", stride, 1),
            ("dilation", dilation, 1),
        )
        # PyTorch computes one dimension as two, and the message says so.
        named = " ".join(
            f"{what}_{axis}: {value}"
            for what, values, rest in groups
            for axis, value in zip(
                _AXES[max(n, 2)], (rest, *values) if n == 1 else values, strict=True
            )
        )
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {named}"
        )


def _check_sizes(
    x: Any, stride: Any, padding: Any, dilation: Any, kernel: Any, output_padding: Any
) -> None:
    """Raise RuntimeError for a transposed convolution whose output has no elements."""
    along = zip(x.shape[2:], stride, padding, dilation, kernel, output_padding, strict=True)
    sizes = [(size - 1) * s - 2 * p + d * (k - 1) + extra + 1 for size, s, p, d, k, extra in along]
    if any(size <= 0 for size in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({_by(x.shape[2:])}). Calculated output size per "
            f"channel: ({_by(sizes)}). Output size is too small"
        )


def _register_transposed(n: int) -> None:
    name = f"conv_transpose{n}d"

    def pure(
        input: Input,
        weight: Input,
        bias: OptInput = None,
        stride: IntOrInts = 1,
        padding: IntOrInts = 0,
        output_padding: IntOrInts = 0,
        groups: Int = 1,
        dilation: IntOrInts = 1,
    ):
        stride, dilation = _expanded(stride, n, "stride"), _expanded(dilation, n, "dilation")
        padding = _expanded(padding, n, "padding")
        output_padding = _expanded(output_padding, n, "output_padding")
        _check_common(input, weight, bias, n, name, stride, padding, dilation, groups)
        x = input if input.ndim == n + 2 else input[None]
        _check_groups(weight, groups)
        if x.shape[1] != weight.shape[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected input"
                f"{list(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                "channels instead"
            )
        _check_kernel(weight.shape[2:])
        _check_bias(bias, weight.shape[1] * groups, weight, "transposed=1, ")
        _check_output_padding(n, output_padding, stride, dilation)
        _check_sizes(x, stride, padding, dilation, weight.shape[2:], output_padding)
        y = transposed(x, weight, stride, padding, output_padding, dilation, groups)
        y = _with_bias(y, bias)
        return y if input.ndim == n + 2 else y[0]

    pure.__doc__ = f"""Compute the transposed convolution over {n} spatial
    dimension{"s" if n > 1 else ""}.

    input: (N, C, …) or (C, …); weight: (C, O / groups, …); bias: (O,). RuntimeError for sizes that
    do not fit, and for ``output_padding`` not smaller than stride or dilation.
    """
    op(
        name,
        namespaces=_SPACES,
        method=False,
        autocast="low",
        one_object=True,
        memory_order=_of_volumes if n == 3 else of_any,
        grad_name="ConvolutionBackward0",
        saved_names={"input": "input"},
        needs={"input": ["weight"], "weight": ["input"], "bias": []},
    )(pure)


for _n in (1, 2, 3):
    _register_conv(_n)
    _register_transposed(_n)


@composite("convolution", method=False)
def any_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """Compute any convolution, by the number of dimensions of a batch ``input``: (N, C, …)."""
    n = input.dim() - 2
    if transposed:
        by_number = NAMESPACES["nn.functional"][f"conv_transpose{n}d"]
        return by_number(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return NAMESPACES["nn.functional"][f"conv{n}d"](
        input, weight, bias, stride, padding, dilation, groups
    )
