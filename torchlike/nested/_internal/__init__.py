"""The classes behind ``torch.nested``, at PyTorch's places."""
