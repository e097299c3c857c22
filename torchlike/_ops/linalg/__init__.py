"""Products, decompositions, solvers and norms of matrices."""
