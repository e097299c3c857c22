"""PyTorch's dispatcher's names, old names, operators, questions."""
