"""Tensors from data, filled, in sequences; other dtypes, devices and memory."""
