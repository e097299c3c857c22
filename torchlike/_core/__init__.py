"""The heart: what a tensor is, and how an op travels. 28 files, to be read in an afternoon.

Imports `_runtime`, and nothing else. Begin with ``storage.py``; what a lower room asks of an upper
one is registered with ``_runtime/provided.py``. The order of reading:

What a tensor is:

1. ``storage.py``: the one mutable thing, a cell with a version.
2. ``views/``: ``geometry.py``, then ``steps.py`` (the kinds of views), then ``chains.py`` (how a
   view is read, and how a write through it reaches the base).
3. ``../tensor.py``: the class Tensor, a storage, a view of it and autograd's fields.
   ``tensor_values.py``: how it reads and writes its cell, and what Python sees of it.
   ``tensor_methods.py``: where type checkers find the methods that ops add.
4. ``cells.py``: what may stand in a cell in an array's place.
5. ``tape.py``: nodes and edges.

How ``a + b`` travels, all in ``dispatch/``:

6. ``registry.py`` (``@op``), ``schema.py`` (what annotations say), ``argument_names.py`` (other
   spellings), ``spec.py`` (what is known of an op).
7. ``call.py``: from the arguments to an executable and back. ``executable.py``: compiled forms.
8. ``record.py``: an op on the tape.
9. ``inplace.py``, ``view_history.py``, ``copying.py``, ``out.py``: ops that write.

Beside them: ``dtypes.py``, ``casts.py``, ``devices.py``, ``layouts.py``, ``size.py``,
``errors.py``; ``modes.py`` (what is on in a thread), ``overrides.py`` (whether somebody acts in a
function's place).
"""
