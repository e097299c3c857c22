"""``torchlike scan``: what a program uses of PyTorch, read from its source. Nothing of it runs.

- ``sources``: the files below a path, and their text; ``notebooks``: the code of notebooks.
- ``scopes``: which names mean what; ``inference``: which expressions are tensors and modules.
- ``neighbours``: names that a file gets from other files of its program.
- ``package``: what this package says of a name of PyTorch's; ``stubs``: what its functions return.
- ``reader`` and ``risks``: the two readers of a file; ``scanning`` puts them together, and
  ``differences`` leaves out what the program cannot meet.
- ``listing``, ``page``, ``command``: how it is told.
"""
