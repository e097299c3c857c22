"""Benchmarks of torchlike against PyTorch, torch.compile and hand-written JAX."""
