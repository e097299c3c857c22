"""Checkpoints as files of ``torch.save``, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchlike._compat import unsupported
from torchlike.distributed.checkpoint._api import save
from torchlike.distributed.checkpoint.filesystem import FileSystemReader
from torchlike.serialization.load import load as load_file
from torchlike.serialization.save import save as save_file
from torchlike.tensor import wrap

globals().update(unsupported.functions("distributed.checkpoint.format_utils"))


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write all of a checkpoint into one file, as a flat dictionary of whole tensors and values.

    Differs from PyTorch: names stay joined (``"model.weight"``), where it nests them again.
    """
    folder = Path(dcp_checkpoint_dir)
    held = FileSystemReader(folder).find(folder)
    whole = held.arrays(dict.fromkeys(held.shapes))
    found: dict[str, Any] = {name: wrap(array) for name, array in whole}
    found.update(held.objects())
    save_file(found, torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write what a file of ``torch.save`` holds as a checkpoint."""
    save(load_file(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
