"""``torch.nested``: not supported; every function says what to use instead."""

from torchlike._compat.unsupported import functions as _functions

globals().update(_functions("nested"))
