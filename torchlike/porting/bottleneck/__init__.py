"""``python -m torchlike.utils.bottleneck script.py``: where a script's time goes.

PyTorch had it to release 2.12, and tutorials name it.
"""
