"""What PyTorch has and torchlike has not: name -> (why, what to use instead).

From this one table come the functions that raise NotImplementedError in those words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike.dispatch.registry import NAMESPACES, add_method, export
from torchlike.tensor import Tensor


class Gap(NamedTuple):
    """A function that is not there."""

    why: str
    instead: str


_COMPRESSED = Gap(
    "XLA has no compressed sparse layouts", "torchlike.sparse_coo_tensor and Tensor.to_sparse()"
)
_SPARSE = Gap("it is not written for sparse tensors", "x.to_dense() and the dense function")
_QUANTIZED = Gap(
    "there are no quantized tensors", "a floating dtype of fewer bits, such as bfloat16"
)
_NESTED = Gap(
    "XLA compiles for fixed shapes, so there are no nested (ragged) tensors",
    "torch.nn.utils.rnn.pad_sequence and a mask",
)
_MASKED = Gap("there is no MaskedTensor", "the functions of torchlike.masked with mask=")
_NAMED = Gap("there are no named tensors", "dimensions by number, or unflatten and permute")
_HALF_COMPLEX = Gap("XLA has no 32-bit complex numbers", "torchlike.complex64")
_JITERATOR = Gap(
    "CUDA source cannot be compiled by XLA", "torchlike.jit on a Python function, or Pallas"
)
_FP8 = Gap("scaled products of 8-bit floats are not there", "matmul in bfloat16")
_ATTENTION = Gap(
    "it is the kernel of one backend", "torch.nn.functional.scaled_dot_product_attention"
)

#: namespace -> name -> gap. "Tensor" are methods, "aten" is torch.ops.aten.
GAPS: dict[str, dict[str, Gap]] = {
    "": {
        **dict.fromkeys(
            ("sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor",
             "sparse_compressed_tensor"), _COMPRESSED),
        **dict.fromkeys(
            ("quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic",
             "dequantize", "quantized_batch_norm", "quantized_max_pool1d", "quantized_max_pool2d",
             "q_scale", "q_zero_point", "q_per_channel_axis", "q_per_channel_scales",
             "q_per_channel_zero_points", "int_repr"), _QUANTIZED),
        **dict.fromkeys(("_scaled_mm", "_scaled_mm_v2", "_scaled_grouped_mm"), _FP8),
        "_nested_tensor_from_mask": _NESTED,
        "_sparse_semi_structured_linear": _SPARSE,
    },
    "sparse": {
        **dict.fromkeys(
            ("softmax", "log_softmax", "spdiags", "spsolve", "as_sparse_gradcheck"), _SPARSE),
        **dict.fromkeys(("to_sparse_semi_structured", "SparseSemiStructuredTensor"), _COMPRESSED),
    },
    "masked": dict.fromkeys(
        ("masked_tensor", "as_masked_tensor", "is_masked_tensor", "MaskedTensor"), _MASKED),
    "nested": dict.fromkeys(
        ("nested_tensor", "nested_tensor_from_jagged", "as_nested_tensor", "to_padded_tensor",
         "narrow", "masked_select"), _NESTED),
    "cuda.jiterator": dict.fromkeys(
        ("_create_jit_fn", "_create_multi_output_jit_fn"), _JITERATOR),
    "aten": dict.fromkeys(
        ("_flash_attention_forward", "_flash_attention_backward", "_efficient_attention_forward",
         "_efficient_attention_backward", "_scaled_dot_product_flash_attention",
         "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention"),
        _ATTENTION),
    "Tensor": {
        **dict.fromkeys(
            ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "crow_indices",
             "ccol_indices", "col_indices", "row_indices"), _COMPRESSED),
        **dict.fromkeys(
            ("align_to", "align_as", "refine_names", "rename", "rename_"), _NAMED),
        **dict.fromkeys(
            ("dequantize", "int_repr", "q_scale", "q_zero_point", "qscheme"), _QUANTIZED),
        "chalf": _HALF_COMPLEX,
        "to_padded_tensor": _NESTED,
    },
}  # fmt: skip


def raising(name: str, gap: Gap) -> Callable[..., Any]:
    """A function that raises NotImplementedError with the gap's words."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.{name}: {gap.why}. Use instead: {gap.instead}.")

    function.__name__ = function.__qualname__ = name.rsplit(".", 1)[-1]
    function.__doc__ = f"Not supported: {gap.why}. Use instead: {gap.instead}."
    return function


def functions(space: str) -> dict[str, Callable[..., Any]]:
    """The raising functions of a namespace."""
    prefix = {"": "", "aten": "ops.aten."}.get(space, f"{space}.")
    return {name: raising(prefix + name, gap) for name, gap in GAPS[space].items()}


def _register() -> None:
    for space in ("", "aten"):
        for name, function in functions(space).items():
            if name not in NAMESPACES.get(space, {}):
                export(function, name, (space,))
    for name, function in functions("Tensor").items():
        if name not in Tensor.__dict__:
            add_method(name, function)


_register()
