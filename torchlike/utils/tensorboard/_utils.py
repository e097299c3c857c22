"""Pictures as arrays: figures, grids of images, and orders of their dimensions."""

from __future__ import annotations

import io
import math
import sys
from typing import Any

import numpy as np


def figure_to_image(figures: Any, close: Any = True) -> np.ndarray:
    """Convert a matplotlib figure to uint8 (3, H, W), or a list of them to (N, 3, H, W).

    They are closed afterwards unless ``close`` is False.
    """
    if isinstance(figures, list):
        return np.stack([_render(figure, close) for figure in figures])
    return _render(figures, close)


def _render(figure: Any, close: Any) -> np.ndarray:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="rgba", dpi=figure.dpi)
    width, height = figure.canvas.get_width_height(physical=True)
    pixels = np.frombuffer(drawn.getvalue(), np.uint8).reshape(height, width, 4)
    if close and (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(figure)
    return np.moveaxis(pixels[..., :3], 2, 0)


def make_grid(images: np.ndarray, ncols: int = 8) -> np.ndarray:
    """Arrange images (N, C, H, W), C being 1 or 3, side by side: (3, H * rows, W * columns)."""
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(f"expected images of shape (N, 1 or 3, H, W), got {images.shape}")
    n, _, height, width = images.shape
    columns = min(n, ncols)
    rows = math.ceil(n / columns)
    canvas = np.zeros((3, height * rows, width * columns), images.dtype)
    for i, image in enumerate(images):
        y, x = i // columns * height, i % columns * width
        canvas[:, y : y + height, x : x + width] = image
    return canvas


def convert_to_HWC(tensor: np.ndarray, input_format: str) -> np.ndarray:
    """Convert an image, or several as one grid, to channels last, with three channels where it had
    one.

    ``input_format`` names the dimensions: "CHW", "HWC", "HW", "NCHW", "NHWC", … AssertionError for
    other names than there are dimensions.
    """
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            "You can not use the same dimension shorthand twice. "
            f"            input_format: {input_format}"
        )
    if len(tensor.shape) != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"        tensor shape: {tensor.shape}, input_format: {input_format}"
        )
    named = input_format.upper()
    order = {4: "NCHW", 3: "HWC", 2: "HW"}.get(len(named), "")
    if sorted(named) != sorted(order):
        raise ValueError(
            f"the input format must consist of the letters of NCHW, CHW or HW, got {input_format}"
        )
    image = tensor.transpose([named.index(d) for d in order])
    if image.ndim == 4:
        return make_grid(image).transpose(1, 2, 0)
    if image.ndim == 2:
        return np.stack([image] * 3, 2)
    return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image
