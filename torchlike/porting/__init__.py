"""Running PyTorch scripts unchanged: the command, the launcher, the alias and the shim ``torch``.

Begin with ``cli.py``, which has the subcommands; ``compare.py``, ``divergence/``, ``plan/``,
``scan/``, ``shim/`` and ``doctor/`` are one each. May import anything.
"""
