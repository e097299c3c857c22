"""What a cell may hold in an array's place, and who else has a say in an op: guests of the heart.

Each kind of cell is a class derived from `torchlike._core.cells.StandIn`: values of transforms
(`boxes`), sparse arrays, the parts of nested and masked tensors, wrapper subclasses. Imports the
heart (`_core`, `_core/dispatch`, `tensor`); the heart imports nothing from here. Begin with
`sparse_array.py`, the plainest.
"""
