"""PyTorch's dispatcher's names, old names, questions; ``operators.py`` has ``a + b``."""
