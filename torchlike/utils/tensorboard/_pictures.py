"""Summaries that are seen and heard: images, boxes on them, moving ones, sound."""

from __future__ import annotations

import io
import math
import warnings
import wave
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from torchlike.utils.tensorboard._convert_np import make_np
from torchlike.utils.tensorboard._protos import Summary
from torchlike.utils.tensorboard._utils import convert_to_HWC


def _as_bytes(pixels: np.ndarray) -> np.ndarray:
    """Convert pixels from 0 to 1 (of any dtype but uint8) to 0 to 255."""
    scale = 1 if pixels.dtype == np.uint8 else 255
    return (pixels.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """Return a summary of an image or a batch of them (which becomes a grid): uint8, or floats from
    0 to 1."""
    pixels = _as_bytes(convert_to_HWC(make_np(tensor), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale=rescale))])


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: list[str] | None = None,
) -> Any:
    """Return a summary of an image with boxes (N, 4), each left, top, right and bottom in pixels,
    and their labels."""
    pixels = _as_bytes(convert_to_HWC(make_np(tensor_image), dataformats))
    shown = make_image(pixels, rescale=rescale, rois=make_np(tensor_boxes), labels=labels)
    return Summary(value=[Summary.Value(tag=tag, image=shown)])


def make_image(tensor: np.ndarray, rescale: float = 1, rois: Any = None, labels: Any = None) -> Any:
    """Encode uint8 pixels (H, W, C) as PNG; ``rescale`` changes the size of what is stored."""
    height, width, channels = tensor.shape
    # PNG has no picture of two channels but grey with transparency.
    picture = Image.fromarray(tensor if channels > 1 else tensor[..., 0])
    if rois is not None:
        picture = draw_boxes(picture, rois, labels=labels)
    scaled = (int(width * rescale), int(height * rescale))
    picture = picture.resize(scaled, Image.Resampling.LANCZOS)
    return Summary.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=_encoded(picture, format="PNG"),
    )


def _encoded(picture: Any, **kwargs: Any) -> bytes:
    stored = io.BytesIO()
    picture.save(stored, **kwargs)
    return stored.getvalue()


def draw_boxes(disp_image: Any, boxes: Any, labels: Any = None) -> Any:
    """Draw red frames on a Pillow image, with black labels on red in their lower left corners."""
    pen = ImageDraw.Draw(disp_image)
    for i, (left, top, right, bottom) in enumerate(np.asarray(boxes).tolist()):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        pen.line(corners, width=2, fill="Red")
        if labels is not None:
            _, _, wide, high = pen.textbbox((0, 0), labels[i])
            margin = math.ceil(0.05 * high)
            pen.rectangle([(left, bottom - high - 2 * margin), (left + wide, bottom)], fill="Red")
            pen.text((left + margin, bottom - high - margin), labels[i], fill="black")
    return disp_image


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Return a summary of moving images (N, T, C, H, W), beside one another: uint8, or floats from
    0 to 1.

    Differs from PyTorch: the package moviepy is not needed, Pillow writes the GIF.
    """
    moving = make_np(tensor)
    n, frames, channels, height, width = moving.shape
    # As many places as the next power of two, in rows: those left over stay black.
    places = 1 << (n - 1).bit_length()
    rows = 1 << ((places.bit_length() - 1) // 2)
    filled = np.zeros((places, *moving.shape[1:]), moving.dtype)
    filled[:n] = moving
    grid = filled.reshape(rows, places // rows, frames, channels, height, width)
    grid = grid.transpose(2, 0, 4, 1, 5, 3).reshape(frames, rows * height, -1, channels)
    return Summary(value=[Summary.Value(tag=tag, image=make_video(_as_bytes(grid), fps))])


def make_video(tensor: np.ndarray, fps: float) -> Any:
    """Encode uint8 frames (T, H, W, C) as an endless GIF."""
    _, height, width, channels = tensor.shape
    first, *rest = [Image.fromarray(f if channels > 1 else f[..., 0]) for f in tensor]
    stored = _encoded(
        first,
        format="GIF",
        save_all=True,
        append_images=rest,
        loop=0,
        duration=math.ceil(1000 / fps),
    )
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=stored
    )


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Return a summary of sound of one channel (samples from -1 to 1) as a WAV file of 16 bits."""
    samples = make_np(tensor).squeeze()
    if np.abs(samples).max() > 1:
        warnings.warn("audio amplitude out of range, auto clipped.")
        samples = samples.clip(-1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    stored = io.BytesIO()
    with wave.open(stored, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * np.iinfo(np.int16).max).astype("<i2").tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=stored.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])
