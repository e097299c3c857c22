"""``torchlike compare --find-divergence``: where two runs of a script first differ.

- ``digests``: numbers that stand for a tensor's values, and how far two of them are apart.
- ``watch``: hooks into calls of modules, backward passes and updates; ``framework``: what they need
  to know of PyTorch, or of torchlike in its place; ``scope``: what is counted and noted, of the
  script or of a compiled function; ``programs``: how what is noted in one comes out of its program.
- ``observer``: what is noted at each of these events; ``tracer``: the operations of one of them.
- ``observe``: one such run of a script, in a process of its own.
- ``comparing``: the first difference of two runs; ``narrowing``: the operation that makes it;
  ``in_float64``: whether it does, from its ``values``.
- ``command``: runs both, compares, and tells.
"""
