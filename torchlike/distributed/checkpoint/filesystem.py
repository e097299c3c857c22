"""Where checkpoints are kept: folders of the file system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class _OfFolder:
    """A folder, given now or by ``checkpoint_id=`` of the call."""

    def __init__(self, path: Any, **options: Any) -> None:
        self.path = Path(os.fspath(path))

    def reset(self, checkpoint_id: Any = None) -> None:
        """Another folder from now on."""
        if checkpoint_id is not None:
            self.path = Path(os.fspath(checkpoint_id))


class FileSystemWriter(_OfFolder):
    """Writes checkpoints into a folder. PyTorch's other arguments (threads, files, copies ahead)
    are taken and change nothing; ``overwrite`` is always on, and safe (see ``save``)."""


class FileSystemReader(_OfFolder):
    """Reads the checkpoint of a folder."""
