"""Python's collector of garbage: what it knows of objects, and when it had better not look.

``gc.freeze()`` hides what exists from it, as `torchlike.porting.allocator.tune_allocator` and some
scripts do. Where something is looked for that may be hidden, freezing is undone.
"""

from __future__ import annotations

import gc
import logging
import types
from collections.abc import Collection

from torchlike._runtime import logs
from torchlike._runtime.patches import at_import

_log = logs.logger("collector")
#: How often objects were brought back into the collector's sight.
times_unhidden = 0


class AtRest:
    """Keep the collector from running until `end`, or until nobody holds this: while much is made
    that stays.

    Importing this package and JAX makes half a million objects, hardly one of them garbage; looking
    through them again and again took a quarter of the time (2.1 and 1.6 s of processor time).
    """

    __slots__ = ("_was_enabled",)

    def __init__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def end(self) -> None:
        """Have the collector run as before, and leave alone for good what was made until now."""
        if self._was_enabled:
            self._was_enabled = False
            gc.freeze()
            at_import.COLLECTOR.note(gc.unfreeze)
            gc.enable()

    #: An import that fails ends it, too.
    __del__ = end


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
