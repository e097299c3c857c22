"""Functions of each element: ``unary.py`` of one tensor, ``pointwise.py`` of several."""
