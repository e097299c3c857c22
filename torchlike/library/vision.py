"""The operators of ``torchvision``'s compiled library, by its names and schemas.

`nms` and `roi_align` are here; the others say when they are called that they have no kernel.
"""

from __future__ import annotations

import jax

from torchlike._ops.nn.image.regions_of_interest import most_samples, nms_kept, roi_align_op
from torchlike.library.registration import Library
from torchlike.tensor import Tensor, wrap

_ROI = "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"
_BACK = "float spatial_scale, int pooled_height, int pooled_width"
_SIZE = "int batch_size, int channels, int height, int width"
_DEFORM = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_DEFORM_NUMBERS = (
    "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
    "int offset_groups, bool use_mask"
)
_SCHEMAS = f"""
_cuda_version() -> int
box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor
_roi_align_backward(Tensor grad, Tensor rois, {_BACK}, {_SIZE}, int sampling_ratio, bool aligned) -> Tensor
qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, {_BACK}, int sampling_ratio, bool aligned) -> Tensor
roi_pool({_ROI}) -> (Tensor, Tensor)
_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_BACK}, {_SIZE}) -> Tensor
ps_roi_align({_ROI}, int sampling_ratio) -> (Tensor, Tensor)
_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BACK}, int sampling_ratio, {_SIZE}) -> Tensor
ps_roi_pool({_ROI}) -> (Tensor, Tensor)
_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_BACK}, {_SIZE}) -> Tensor
deform_conv2d({_DEFORM}, {_DEFORM_NUMBERS}) -> Tensor
_deform_conv2d_backward(Tensor grad, {_DEFORM}, {_DEFORM_NUMBERS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
"""  # noqa: E501 - one schema a line

_library = Library("torchvision", "DEF")
for _schema in _SCHEMAS.strip().splitlines():
    _library.define(_schema)


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of the boxes that remain, best first. How many they are is known only by
    value."""
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if len(dets) != len(scores):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{len(dets)} and {len(scores)}"
        )
    order = scores.detach().argsort(0, descending=True, stable=True)
    return order[nms_kept(dets.detach(), order, float(iou_threshold))]


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Return the means of bilinear samples in the bins of each box."""
    if rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if rois.dtype is not input.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'input' to have the same type as tensor for argument "
            f"#2 'rois'; but type {input.type()} does not equal {rois.type()} (while checking "
            "arguments for roi_align_forward_kernel)"
        )
    size = pooled_height, pooled_width
    most = most_samples(rois, spatial_scale, size, sampling_ratio)
    return roi_align_op(input, rois, spatial_scale, size, most, sampling_ratio, aligned)


def _roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    numbers = (spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    image = grad.new_zeros((batch_size, channels, height, width))
    _, pulled = jax.vjp(lambda x: roi_align(wrap(x), rois, *numbers)._read(), image._read())
    return wrap(pulled(grad._read())[0])


for _kernel in (nms, roi_align, _roi_align_backward):
    _library.impl(_kernel.__name__, _kernel)
_library.impl("_cuda_version", lambda: -1)
