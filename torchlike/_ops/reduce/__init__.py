"""Reductions, order statistics, sets and counts. Begin with ``reduction.py``."""
