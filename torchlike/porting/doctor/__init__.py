"""``torchlike doctor``: what there is, and what is known not to go together."""
