"""What Python's collector of garbage knows of objects: who refers to them.

``gc.freeze()`` hides what exists from it, as `torchlike.porting.allocator.tune_allocator` and some
scripts do. Where something is looked for that may be hidden, freezing is undone.
"""

from __future__ import annotations

import gc
import logging
import types
from collections.abc import Collection

from torchlike._runtime import logs

_log = logs.logger("collector")
#: How often objects were brought back into the collector's sight.
times_unhidden = 0


def unhide(why: str) -> None:
    """Undo ``gc.freeze()``, which is logged."""
    global times_unhidden
    times_unhidden += 1
    # Counting walks through all that is hidden, and is for the log alone.
    if _log.isEnabledFor(logging.INFO) and gc.get_freeze_count():
        _log.info("gc.freeze() is undone: %s", why)
    gc.unfreeze()


def functions_of(codes: Collection[types.CodeType]) -> list[types.FunctionType]:
    """Return the functions that run these code objects."""
    unhide("functions that a capture has run are looked for")
    wanted = set(map(id, codes))
    return [
        fn
        for fn in gc.get_referrers(*codes)
        if isinstance(fn, types.FunctionType) and id(fn.__code__) in wanted
    ]
