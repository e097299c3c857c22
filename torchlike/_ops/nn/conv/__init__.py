"""Convolutions: ``ops.py`` has the ops, ``convolution.py`` what they compute."""
