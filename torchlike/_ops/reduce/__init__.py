"""Reductions, order statistics, sets and counts."""
