"""Random tensors, in the order of PyTorch's generator.

Begin with ``sampling.py``: by its `draw` the numbers of dropout and all others come from
`torchlike.random`; in a capture they are per-call values (``_jit/capture/cells.py``).
``random.py``, ``choices.py``, ``samplers.py`` and ``dropout.py`` have the functions.
"""
