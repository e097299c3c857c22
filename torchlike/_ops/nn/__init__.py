"""What `nn.functional` is made of."""
