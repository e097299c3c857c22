"""Ops: one family a file. Importing a family registers it; see dispatch.registry.op."""

from torchlike.ops import (  # noqa: I001 - views come first: creation and indexing build on them
    views as views,
    creation as creation,
    conversion as conversion,
    pointwise as pointwise,
    reduction as reduction,
    matmul as matmul,
    indexing as indexing,
    activation as activation,
    softmax as softmax,
    conv as conv,
    operators as operators,
)
