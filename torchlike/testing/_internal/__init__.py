"""``torch.testing._internal``: of what PyTorch's own tests share, what other test suites import."""
