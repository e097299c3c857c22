"""Running PyTorch scripts unchanged: the launcher, the comparer and the demo."""
