"""Products (``matmul.py``), decompositions, solvers and norms of matrices."""
