"""Sizes of results in symbols, of operators whose own code asks for the numbers: windows, parts,
reductions to places, and what has the size that it is given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._compat.symbolic import SymInt, hint_of
from torchlike._core import dtypes, errors

Sizes = tuple[Any, ...]
#: By the operator's name without its underscores at the end: ``rule(arguments) -> sizes``.
RULES: dict[str, Callable[[dict[str, Any]], list[Sizes]]] = {}


def _rule(text: str) -> Callable[[Callable[[Any], list[Sizes]]], Callable[[Any], list[Sizes]]]:
    def register(function: Callable[[Any], list[Sizes]]) -> Callable[[Any], list[Sizes]]:
        RULES.update(dict.fromkeys(text.split(), function))
        return function

    return register


def _first(a: dict[str, Any]) -> Sizes:
    return tuple(next(v for v in a.values() if hasattr(v, "shape")).shape)


@_rule("""rand_like randn_like randint_like bernoulli uniform normal exponential geometric cauchy
    log_normal random poisson empty_like dropout""")
def _as_first(a: dict[str, Any]) -> list[Sizes]:
    return [_first(a)]


@_rule("native_dropout rrelu_with_noise")
def _twice(a: dict[str, Any]) -> list[Sizes]:
    return [_first(a)] * 2


@_rule("""native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training
    _native_batch_norm_legit_functional""")
def _normed(a: dict[str, Any]) -> list[Sizes]:
    size = _first(a)
    return [size, *[size[1:2]] * 4]  # the functional form gives the statistics, too


@_rule("""zeros ones empty full rand randn randint empty_strided new_zeros new_ones new_empty
    new_full new_empty_strided""")
def _asked(a: dict[str, Any]) -> list[Sizes]:
    return [tuple(a["size"])]


@_rule("randperm")
def _counted(a: dict[str, Any]) -> list[Sizes]:
    return [(a["n"],)]


@_rule("arange")
def _stepped(a: dict[str, Any]) -> list[Sizes]:
    start, end, step = a.get("start", 0), a["end"], a.get("step", 1)
    if any(isinstance(n, float) for n in (start, end, step)):
        raise NotImplementedError("aten.arange with symbolic sizes and floats: use ints")
    return [(end - start if step == 1 else -((start - end) // step),)]


# -- parts -----------------------------------------------------------------------------------------


def _with(size: Sizes, dim: int, n: Any) -> Sizes:
    at = errors.wrap_dim(dim, len(size))
    return (*size[:at], n, *size[at + 1 :])


def _is_negative(value: Any) -> bool:
    """Return whether a place counts from the end, by the number at hand if there is one."""
    if isinstance(value, SymInt) and value.node.shape_env.unbacked.among(value.node.expr):
        return bool(value < 0)
    return hint_of(value) < 0


@_rule("select")
def _selected(a: dict[str, Any]) -> list[Sizes]:
    size = _first(a)
    at = errors.wrap_dim(a["dim"], len(size))
    return [(*size[:at], *size[at + 1 :])]


@_rule("slice")
def _slice(a: dict[str, Any]) -> list[Sizes]:
    size = _first(a)
    n = size[errors.wrap_dim(a["dim"], len(size))]

    def place(value: Any, default: Any) -> Any:
        if value is None or (isinstance(value, int) and value >= 1 << 62):
            return default
        value = value + n if _is_negative(value) else value
        return n if value > n else (0 if value < 0 else value)

    start, end, step = place(a["start"], 0), place(a["end"], n), a["step"]
    if not end >= start:
        return [_with(size, a["dim"], 0)]
    return [_with(size, a["dim"], end - start if step == 1 else (end - start + step - 1) // step)]


@_rule("split unsafe_split split_copy")
def _split(a: dict[str, Any]) -> list[Sizes]:
    size, dim, part = _first(a), a["dim"], a["split_size"]
    n = size[errors.wrap_dim(dim, len(size))]
    count = max(int((n + part - 1) // part), 1)  # how many parts there are is part of the graph
    return [*[_with(size, dim, part)] * (count - 1), _with(size, dim, n - part * (count - 1))]


@_rule("split_with_sizes unsafe_split_with_sizes split_with_sizes_copy")
def _split_with_sizes(a: dict[str, Any]) -> list[Sizes]:
    return [_with(_first(a), a["dim"], n) for n in a["split_sizes"]]


@_rule("""select_backward slice_backward diagonal_backward unfold_backward
    upsample_nearest2d_backward upsample_bilinear2d_backward upsample_bicubic2d_backward""")
def _input_sizes(a: dict[str, Any]) -> list[Sizes]:
    return [tuple(a["input_sizes"] if "input_sizes" in a else a["input_size"])]


@_rule("""scatter scatter_add scatter_reduce index_add index_copy index_fill index_put masked_fill
    masked_scatter""")
def _written(a: dict[str, Any]) -> list[Sizes]:
    return [tuple(a["self"].shape)]


# -- reductions ------------------------------------------------------------------------------------


def _reduced(a: dict[str, Any]) -> Sizes:
    size, dim = _first(a), a.get("dim")
    dims = range(len(size)) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
    gone = {errors.wrap_dim(d, len(size)) for d in dims}
    if a.get("keepdim"):
        return tuple([1 if d in gone else n for d, n in enumerate(size)])
    return tuple([n for d, n in enumerate(size) if d not in gone])


@_rule("argmax argmin std var")
def _one(a: dict[str, Any]) -> list[Sizes]:
    return [_reduced(a)]


@_rule("max min")
def _extremes(a: dict[str, Any]) -> list[Sizes]:
    if "other" in a:
        raise NotImplementedError("aten.max of two tensors with symbolic sizes: use maximum")
    return [_reduced(a)] * (2 if "dim" in a else 1)


@_rule("var_mean std_mean median nanmedian mode kthvalue aminmax")
def _two(a: dict[str, Any]) -> list[Sizes]:
    return [_reduced(a)] * (2 if "dim" in a else 1)


@_rule("topk")
def _topk(a: dict[str, Any]) -> list[Sizes]:
    return [_with(_first(a), a["dim"], a["k"])] * 2


# -- windows ---------------------------------------------------------------------------------------


def _each(value: Any, n: int) -> list[Any]:
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    return given * n if len(given) == 1 else given


@_rule("convolution _convolution")
def _convolution(a: dict[str, Any]) -> list[Sizes]:
    size, kernel = tuple(a["input"].shape), tuple(a["weight"].shape)
    n = len(size) - 2
    each = functools.partial(_each, n=n)
    found = []
    for d, k, s, p, e, o in zip(
        size[2:],
        kernel[2:],
        each(a["stride"]),
        each(a["padding"]),
        each(a["dilation"]),
        each(a["output_padding"]),
        strict=True,
    ):
        if a["transposed"]:
            found.append((d - 1) * s - 2 * p + e * (k - 1) + o + 1)
        else:
            found.append((d + 2 * p - e * (k - 1) - 1) // s + 1)
    channels = kernel[1] * a["groups"] if a["transposed"] else kernel[0]
    return [(size[0], channels, *found)]


def _pooled(a: dict[str, Any], n: int) -> Sizes:
    size = _first(a)
    each = functools.partial(_each, n=n)
    kernel = each(a["kernel_size"])
    steps = each(a["stride"]) if a["stride"] else kernel
    found = []
    for d, k, s, p, e in zip(
        size[-n:], kernel, steps, each(a["padding"]), each(a.get("dilation", 1)), strict=True
    ):
        rest = d + 2 * p - e * (k - 1) - 1
        count = (rest + s - 1 if a["ceil_mode"] else rest) // s + 1
        if a["ceil_mode"] and (count - 1) * s >= d + p:
            count = count - 1  # no window begins behind the end
        found.append(count)
    return (*size[:-n], *found)


def _of_pooling(name: str, n: int, results: int) -> None:
    @_rule(name)
    def pooled(a: dict[str, Any]) -> list[Sizes]:
        return [_pooled(a, n)] * results


for _n in (2, 3):
    _of_pooling(f"avg_pool{_n}d", _n, 1)
    _of_pooling(f"max_pool{_n}d_with_indices", _n, 2)


@_rule("""max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward
    avg_pool3d_backward""")
def _pooling_backward(a: dict[str, Any]) -> list[Sizes]:
    return [tuple(a["self"].shape)]


@_rule("convolution_backward")
def _convolution_backward(a: dict[str, Any]) -> list[Sizes]:
    found = [tuple(a["input"].shape), tuple(a["weight"].shape), tuple(a["bias_sizes"] or ())]
    return [size for size, wanted in zip(found, a["output_mask"], strict=True) if wanted]


@_rule("embedding_dense_backward")
def _embedding_backward(a: dict[str, Any]) -> list[Sizes]:
    return [(a["num_weights"], a["grad_output"].shape[-1])]


@_rule("""upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
    upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
    _upsample_bicubic2d_aa""")
def _resized(a: dict[str, Any]) -> list[Sizes]:
    if a["output_size"] is None:
        raise NotImplementedError("resampling by a factor with symbolic sizes: give a size")
    return [(*_first(a)[:2], *a["output_size"])]


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _attention(a: dict[str, Any]) -> list[Sizes]:
    query = tuple(a["query"].shape)
    return [(*query[:-1], a["value"].shape[-1]), query[:-1]]


@_rule("squeeze")
def _squeezed(a: dict[str, Any]) -> list[Sizes]:
    """Refuse sizes that may be 1: how many dimensions are left is part of the graph."""
    size, dim = _first(a), a.get("dim")
    dims = range(len(size)) if dim is None else [dim] if isinstance(dim, int) else dim
    asked = {errors.wrap_dim(d, len(size)) for d in dims}
    return [tuple([n for d, n in enumerate(size) if not (d in asked and n == 1)])]


#: What a size that values tell makes of results: their sizes, and dtypes that are not the input's.
_ByValues = Callable[[Any], list[tuple[Sizes, Any]]]


def sizes_by_values(name: str, args: Any, kwargs: Any) -> tuple[Any, _ByValues] | None:
    """Return of an operator whose results have a size that values tell: how large that is at most,
    and what it makes of them. None of operators that are not described so."""
    self = args[0]
    whole = tuple(self.shape)
    if name == "nonzero":
        return self.numel(), lambda n: [((n, self.dim()), dtypes.int64)]
    if name == "masked_select" and whole == tuple(args[1].shape):
        return self.numel(), lambda n: [((n,), None)]
    if name == "_unique2":
        given = dict(zip(("sorted", "return_inverse", "return_counts"), args[1:], strict=False))
        given |= kwargs
        inverse = whole if given.get("return_inverse") else (0,)
        counted = given.get("return_counts")
        return self.numel(), lambda n: [
            ((n,), None),
            (inverse, dtypes.int64),
            ((n,) if counted else (0,), dtypes.int64),
        ]
    if name != "index" or sum(i is not None for i in args[1]) != 1:
        return None
    at = next(k for k, i in enumerate(args[1]) if i is not None)
    mask = args[1][at]
    return mask.numel(), lambda n: [((*whole[:at], n, *whole[at + mask.dim() :]), None)]


def rule_of(name: str) -> Callable[[dict[str, Any]], list[Sizes]] | None:
    """Return the rule of an operator; None where it is traced."""
    return RULES.get(name) or RULES.get(name.rstrip("_"))
