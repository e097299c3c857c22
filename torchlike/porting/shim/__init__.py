"""``torchlike shim``: a distribution ``torch`` whose import gives torchlike.

pip and uv see a requirement of torch met; every program of the environment has torchlike for torch.
"""
