"""``torch.distributed.tensor.experimental``: `implicit_replication`."""

from torchlike.distributed.mixed_operands import implicit_replication as implicit_replication
