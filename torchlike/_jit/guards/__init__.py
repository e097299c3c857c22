"""What a program depends on: keys of calls, guards, and where a call finds its inputs.

Imports no other layer of the compiler. Begin at ``guard.py``: `Guard`, of which all others are,
and `GuardSet`, which checks, generates source and explains. ``keys.py`` makes the key of a call,
which chooses the programs whose guards are compared. Guards by what they look at: ``tensors.py``,
``modules.py`` (and optimizers), ``objects.py``, ``containers.py``, ``weak.py``; ``merged.py`` puts
many of one kind together. ``sources.py`` says where a call finds a program's inputs.
"""
