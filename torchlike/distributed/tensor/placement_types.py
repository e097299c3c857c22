"""How a tensor would lie on a mesh: descriptions, which code builds before it asks for a mesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """How a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether the tensor is cut (along ``dim``)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return whether each process has all of the tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether the tensor is still to be reduced (by ``reduce_op``)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension of the tensor."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """Return the length and first index of one of ``num_chunks`` parts of a dimension; the last
        are shorter, or empty."""
        chunk = -(-curr_local_size // num_chunks)
        start = min(chunk * rank, curr_local_size)
        return min(chunk, curr_local_size - start), start

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """All of it in each process."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """In each process a term; together, by ``reduce_op``, the tensor."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """Cut into ``split_factor`` groups, each of which is cut along ``dim``."""

    dim: int
    split_factor: int

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"
