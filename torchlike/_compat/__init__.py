"""Older names of PyTorch's, and tables of names: typed storages and tensors, switches, absences."""
