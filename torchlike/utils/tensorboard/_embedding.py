"""Files of TensorBoard's projector: points, what they stand for, and their pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from PIL import Image

from torchlike._runtime import whole_files
from torchlike.utils.tensorboard._protos import EmbeddingInfo
from torchlike.utils.tensorboard._utils import make_grid


def write_points(folder: Path, points: np.ndarray) -> None:
    """Write ``tensors.tsv``: a line for each row of ``points`` (N, D)."""
    rows = ("\t".join(map(str, row)) for row in points.tolist())
    whole_files.write_text(folder / "tensors.tsv", "".join(f"{row}\n" for row in rows))


def write_metadata(folder: Path, metadata: Any, header: Any) -> None:
    """Write ``metadata.tsv``: a line for each point; with a header several columns."""
    rows = [[str(x) for x in row] for row in (header, *metadata)] if header else metadata
    lines = ["\t".join(row) for row in rows] if header else [str(x) for x in rows]
    text = "".join(f"{line}\n" for line in lines)
    whole_files.write_text(folder / "metadata.tsv", text)


def write_sprite(folder: Path, images: np.ndarray) -> None:
    """Write ``sprite.png``: the pictures (N, C, H, W) from 0 to 1 in a square, row by row."""
    grid = make_grid(images, ncols=math.ceil(math.sqrt(len(images))))
    _, height, width = grid.shape
    square = np.zeros((max(height, width), max(height, width), 3), np.float32)
    square[:height, :width] = grid.transpose(1, 2, 0)
    pixels = (square * 255).clip(0, 255).astype(np.uint8)
    with whole_files.writing(folder / "sprite.png") as file:
        Image.fromarray(pixels).save(file, "png")


def embedding_info(
    metadata: Any, images: np.ndarray | None, subfolder: str, global_step: str, tag: str
) -> Any:
    """Return the paths under which the projector finds the files of one set of points."""
    info = EmbeddingInfo(tensor_name=f"{tag}:{global_step}", tensor_path=f"{subfolder}/tensors.tsv")
    if metadata is not None:
        info.metadata_path = f"{subfolder}/metadata.tsv"
    if images is not None:
        info.sprite.image_path = f"{subfolder}/sprite.png"
        info.sprite.single_image_dim.extend((images.shape[3], images.shape[2]))
    return info


def write_config(folder: Path, config: Any) -> None:
    """Write ``projector_config.pbtxt``, by which TensorBoard finds all sets of points."""
    text = text_format.MessageToString(config)
    whole_files.write_text(folder / "projector_config.pbtxt", text)
