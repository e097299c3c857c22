"""``record``: the exception that ends a worker, written where its launcher looks."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

from torchlike._runtime import whole_files


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Decorate a function: an exception that leaves it is also written to the file that the
    environment's TORCHELASTIC_ERROR_FILE names, as JSON, or given to
    ``error_handler.record_exception``."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if error_handler is None:
                write_error(error)
            else:
                error_handler.record_exception(error)
            raise

    return wrapped


def write_error(error: Exception) -> None:
    """Write an exception where the launcher looks, if there is one."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    told = {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {
            "py_callstack": "".join(traceback.format_exception(error)),
            "timestamp": str(int(time.time())),
        },
    }
    whole_files.write_text(path, json.dumps({"message": told}))
