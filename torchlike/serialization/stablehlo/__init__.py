"""Programs as StableHLO: captured functions that run without the code they came from.

`torchlike.jit.script`, ``trace``, ``save`` and ``load`` are in ``jit/_script.py`` and
``jit/_trace.py``; an ``Artifact`` (``artifact.py``) is one program, with its backward pass. Imports
`_jit` and `nn`. What a file may hold is decided in ``safety.py``.
"""
