"""Random programs of views, in-place writes and autograd, held against a reference library.

A program is a list of Python lines over tensors ``t0, t1, …``. It is drawn by hypothesis against
the reference (PyTorch, or the NumPy one in ``strided``), whose tensors say which shapes and
dimensions make sense, so that a falsifying example is a script that anyone can paste and run.

- ``statements``: how each kind of line is drawn
- ``program``: a program, and the strategy that draws it
- ``compare``: run one program under two libraries and compare all that a user can see
- ``strided``: a small reference on NumPy strides, for values and aliasing without PyTorch
"""
