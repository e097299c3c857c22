"""What `nn.functional` is made of: a folder for each kind of layer."""
