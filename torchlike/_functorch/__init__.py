"""``torch._functorch``: what `vmap` does, where libraries look for it and replace functions of it.

Imports `_ops`, `utils` and below, and is imported by `nn` and `func`. Begin with ``apis.py``, then
``vmap.py``; names of the package ``functorch`` that are only older are in `func`.
"""

from torchlike._functorch import config as config
