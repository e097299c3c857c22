"""``torch.signal``: window functions.

Imports `_ops` and below. Begin with ``windows.py``; there is nothing else.
"""

from torchlike.signal import windows
