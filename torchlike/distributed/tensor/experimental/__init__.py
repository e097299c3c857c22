"""``torch.distributed.tensor.experimental``: `implicit_replication` and `local_map`."""

from torchlike.distributed.mixed_operands import implicit_replication as implicit_replication
from torchlike.distributed.tensor.experimental._func_map import local_map as local_map
