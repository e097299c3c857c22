"""What a tensor is made of: dtypes, devices, modes, storage, views, kinds of cell, the tape.

Imports `_runtime`, and `tensor.py` where a file speaks of the class. To read it in an afternoon:
``storage.py`` (the one mutable thing), ``views/`` (geometry, steps, chains), ``../tensor.py``,
``stored_values.py`` and ``python_values.py`` (how a tensor reads and writes its cell), ``tape.py``
(nodes and edges), ``cells.py`` (what may stand in an array's place); then ``../_dispatch``.
"""
