"""The four compressed layouts: which dimension is compressed, and whether values are blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import layouts


class CompressedLayout(NamedTuple):
    """What distinguishes a compressed layout from the others."""

    layout: Any
    #: PyTorch's name of it in messages.
    name: str
    by_rows: bool
    in_blocks: bool

    @property
    def compressed(self) -> str:
        """The name of the indices that say where each row (column) begins."""
        return "crow_indices" if self.by_rows else "ccol_indices"

    @property
    def plain(self) -> str:
        """The name of the other indices."""
        return "col_indices" if self.by_rows else "row_indices"

    @property
    def outer(self) -> str:
        """What is compressed."""
        return "row" if self.by_rows else "column"

    @property
    def function(self) -> str:
        """The name of the function that makes one of its parts."""
        return f"{str(self.layout).removeprefix('torch.')}_tensor"


KINDS = {
    kind.layout: kind
    for kind in (
        CompressedLayout(layouts.sparse_csr, "SparseCsr", True, False),
        CompressedLayout(layouts.sparse_csc, "SparseCsc", False, False),
        CompressedLayout(layouts.sparse_bsr, "SparseBsr", True, True),
        CompressedLayout(layouts.sparse_bsc, "SparseBsc", False, True),
    )
}
#: The layout of the transpose.
TRANSPOSED = {
    layouts.sparse_csr: layouts.sparse_csc,
    layouts.sparse_csc: layouts.sparse_csr,
    layouts.sparse_bsr: layouts.sparse_bsc,
    layouts.sparse_bsc: layouts.sparse_bsr,
}


def name_of(layout: Any) -> str:
    """Return the name that PyTorch's messages give a layout."""
    if layout is layouts.strided:
        return "Strided"
    return "Sparse" if layout is layouts.sparse_coo else KINDS[layout].name
