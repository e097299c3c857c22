"""What a tensor is: dtypes, devices, modes, storage, views, the tensor itself, the tape."""
