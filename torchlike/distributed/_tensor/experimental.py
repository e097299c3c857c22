"""``torch.distributed._tensor.experimental``: the older name."""

from torchlike.distributed.mixed_operands import implicit_replication as implicit_replication
