"""``torch.distributed.tensor.experimental``: `implicit_replication`, `context_parallel`."""

from torchlike.distributed.mixed_operands import implicit_replication as implicit_replication
from torchlike.distributed.tensor.experimental._attention import (
    context_parallel as context_parallel,
)
