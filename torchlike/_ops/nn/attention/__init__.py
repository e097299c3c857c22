"""Attention. Begin with ``attention.py``; ``kernels.py`` chooses what computes it."""
