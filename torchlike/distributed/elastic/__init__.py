"""``torch.distributed.elastic``: what a script's ``main`` is decorated with."""
