"""Which globals of a checkpoint ``torch.load(weights_only=True)`` would refuse."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from torchlike.serialization.allowed import user_globals
from torchlike.serialization.archives import _is_zipfile
from torchlike.serialization.damage import reading
from torchlike.serialization.storages import Archive
from torchlike.serialization.survey import Survey
from torchlike.serialization.weights import known_globals


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the dotted names of classes and functions in a checkpoint that are not allowed in
    files loaded with ``weights_only=True``. Nothing in the file is executed.

    Args:
      f: a path, or a binary file that can seek.

    Raises:
      ValueError: ``f`` is no zip archive that ``torch.save`` writes.
    """
    if not hasattr(f, "read"):
        with open(os.fspath(f), "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if not _is_zipfile(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    with zipfile.ZipFile(f) as archive:
        try:  # the very pickle that is loaded, whatever else the archive has
            code = Archive(archive, None).pickle()
        except RuntimeError as error:
            message = f"Expected input to be a checkpoint returned by torch.save: {error}"
            raise ValueError(message) from None
        with reading(f):
            survey = Survey(code)
            survey.load()
    safe = known_globals()
    return [name for name in survey.names if name not in safe and name not in user_globals]
