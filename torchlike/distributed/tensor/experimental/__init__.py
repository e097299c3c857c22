"""``torch.distributed.tensor.experimental``: functions of what each process holds of DTensors, and
attention along a sequence that is cut."""

from torchlike.distributed.mixed_operands import implicit_replication as implicit_replication
from torchlike.distributed.tensor.experimental._attention import (
    context_parallel as context_parallel,
)
from torchlike.distributed.tensor.experimental._func_map import local_map as local_map
from torchlike.distributed.tensor.experimental._register_sharding import (
    register_sharding as register_sharding,
)
