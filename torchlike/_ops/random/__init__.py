"""Random tensors, in the order of PyTorch's generator."""
