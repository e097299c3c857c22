"""What the package changes in its process beyond its own modules, each thing declared once.

`at_import`, `in_use` and `in_processes` declare by when it happens; `registry` says what a patch
is, and undoes one. docs/what-importing-changes.md is made of the declarations by
`python -m tools.generate`, and tests/test_patches.py finds what is declared nowhere. Standard
library only.
"""

from torchlike._runtime.patches import at_import, in_processes, in_use
from torchlike._runtime.patches.registry import PATCHES, Patch, undo

__all__ = ["PATCHES", "Patch", "at_import", "in_processes", "in_use", "undo"]
