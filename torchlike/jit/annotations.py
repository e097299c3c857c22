"""``torch.jit.annotations``: types that TorchScript reads, for readers here."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

# Scripts written before Python 3.9 take typing's names from here as well (timm does).
__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]
__all__ += [f"BroadcastingList{n}" for n in range(1, 7)]

#: A list of n, or one value for all of them.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = list
