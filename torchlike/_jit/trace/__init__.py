"""The one run of a body under JAX's tracing, its backward, and control flow on values.

May import `capture` and `guards`. Begin at ``tracing.py``. Of control flow begin at
``rewriting.py``: what it rewrites calls ``operators.py``, whose branches and loops are subgraphs.
"""
