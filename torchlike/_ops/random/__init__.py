"""Random tensors, in the order of PyTorch's generator. Begin with ``drawing.py``, by which the
numbers of dropout and all others come from `torchlike.random`."""
