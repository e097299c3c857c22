"""What a cell may hold in an array's place, and who else has a say in an op: guests of the heart.

Imports `_runtime` and the heart (`_core`, `_core/dispatch`, `tensor`), which imports nothing from
here. Begin with ``sparse_array.py``, the plainest. Each kind of cell is a class derived from
`torchlike._core.cells.StandIn`: values of transforms (``boxes.py``), shapes without values
(``meta.py``), sparse arrays, the parts of nested and masked tensors, wrapper subclasses.
``overrides/`` asks ``__torch_function__`` and ``__torch_dispatch__``; ``autocast.py`` casts.
"""
