"""What an operation says of itself at the keyboard: its signature, and a docstring with all parts.

Imports `_core` and the registry of ops; ``unsupported`` and the package's ``__init__`` fill the
registry, and the latter calls ``install``. Begin with ``at_the_keyboard.py``, which gives each
public function both; ``signatures.py`` makes a signature of an op's definition, ``docstrings.py``
the text, with ``arguments.toml`` (what parameters mean) and ``examples.json`` (made by
``python -m tools.examples``). Nothing is made, and none of the files read, before somebody asks.
"""
