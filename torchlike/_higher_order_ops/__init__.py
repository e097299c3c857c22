"""``torch._higher_order_ops``: where PyTorch's programs import control flow from.

Imports `_jit` and below. Begin with ``control_flow.py``, which has `cond`, `while_loop`, `scan` and
`map`; ``operators.py`` has the other operators that take functions.
"""

from torchlike._higher_order_ops.associative_scan import associative_scan
from torchlike._higher_order_ops.cond import cond
from torchlike._higher_order_ops.map import map
from torchlike._higher_order_ops.out_dtype import out_dtype
from torchlike._higher_order_ops.scan import scan
from torchlike._higher_order_ops.switch import switch
from torchlike._higher_order_ops.while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "out_dtype", "scan", "switch", "while_loop"]
