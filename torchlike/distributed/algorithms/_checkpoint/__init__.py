"""``torch.distributed.algorithms._checkpoint``: modules whose activations are not kept."""
