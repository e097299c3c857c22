"""From one process to another: ``send``, ``recv`` and their like, by way of the mailbox.

Differs from PyTorch: a send is done once the receiver's process has the values, whether it has
asked for them or not, so two ranks that both send first do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.distributed.groups import ProcessGroup, member
from torchlike.distributed.host_exchange import fill, mailbox, values_of
from torchlike.distributed.mailbox import decoded
from torchlike.distributed.works import Work, refuse_capture
from torchlike.tensor import Tensor


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            "Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    return value


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, what: str) -> int:
    """Return the peer's rank in the world. ValueError for this process itself, or for one that is
    not in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both {what} and group_{what}")
    full = "destination" if what == "dst" else "source"
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        rank = group.ranks[group_rank]
    if rank is None:
        raise ValueError(f"Invalid {full} rank: none was given")
    if rank not in group.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    if rank == group.ranks[group.rank()]:
        raise ValueError(
            f"Invalid {full} rank: {full} rank should not be the same as the rank of "
            "the current process."
        )
    return rank


class Receive(Work):
    """A receive under way: the tensor has the values after ``wait``."""

    def __init__(self, tensor: Tensor, group: ProcessGroup, peer: int | None, tag: int) -> None:
        refuse_capture("recv")
        super().__init__(results=[tensor])
        self._tensor, self._group, self._peer, self._tag = tensor, group, peer, tag
        self._number = -1 if peer is None else mailbox().expect(peer, group.number, tag)
        self._is_done = False

    def wait(self, timeout: Any = None) -> bool:
        """True once the values are in the tensor. DistBackendError where the sender has ended, or
        after the timeout; RuntimeError where it sent another dtype or size."""
        if self._is_done:
            return True
        limit = self._group.timeout if timeout is None else timeout
        seconds, number = limit.total_seconds(), self._group.number
        if self._peer is None:
            own = self._group.ranks[self._group.rank()]
            others = [r for r in self._group.ranks if r != own]
            self._peer, message = mailbox().collect_any(others, number, self._tag, seconds)
        else:
            message = mailbox().collect(self._peer, number, self._tag, self._number, seconds)
        self._is_done = True
        fill(self._tensor, decoded(message), f"recv from rank {self._peer}")
        return True

    def is_completed(self) -> bool:
        """Return whether the values have arrived."""
        if self._is_done or self._peer is None:
            return self._is_done
        return mailbox().has(self._peer, self._group.number, self._tag, self._number)

    def source_rank(self) -> int:
        """Return the sender's rank; -1 while it is unknown."""
        return -1 if self._peer is None else self._peer


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Send a tensor. ValueError for a peer that is not another member of the group;
    DistBackendError for one that has ended."""
    _tensor(tensor)
    found = member(group)
    if found.rank() < 0:
        return None
    peer = _peer(found, dst, group_dst, "dst")
    refuse_capture("send")
    mailbox().post(peer, found.number, tag, values_of(tensor), tensor.dtype.name)
    return Work(results=[tensor])


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Receive into a tensor, from any process where none is given. Errors as of ``Receive.wait``,
    and ValueError as of ``isend``."""
    _tensor(tensor)
    found = member(group)
    if found.rank() < 0:
        return None
    if src is None and group_src is None and found.size() > 1:
        return Receive(tensor, found, None, tag)
    return Receive(tensor, found, _peer(found, src, group_src, "src"), tag)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a process as ``isend`` does, and wait for that."""
    isend(tensor, dst, group, tag, group_dst)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor as ``irecv`` does, wait for it, and return the sender's rank; -1 in a
    process that is not in the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """A send or a receive for ``batch_isend_irecv``. ValueError for another function."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.group, self.tag = op, _tensor(tensor), member(group), tag
        self.peer = peer if group_peer is None else self.group.ranks[group_peer]


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start all of them. ValueError for what is no P2POp; IndexError for none at all."""
    if not p2p_op_list:
        raise IndexError("list index out of range: batch_isend_irecv() of no P2POp")
    if not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    return [p.op(p.tensor, p.peer, p.group, p.tag) for p in p2p_op_list]


@contextmanager
def coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[Work]:
    """Yield one work for the collectives of a ``with`` block, which are begun one by one."""
    member(group)
    yield Work()
