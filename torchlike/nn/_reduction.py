"""``torch.nn._reduction``: the names of losses' reductions (``F._Reduction``)."""

from torchlike._ops.nn.loss.reductions import get_enum, legacy_get_enum, legacy_get_string

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
