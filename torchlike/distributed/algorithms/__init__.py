"""``torch.distributed.algorithms``: uneven inputs, communication hooks."""
