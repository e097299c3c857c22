"""ZeroRedundancyOptimizer: each process keeps the state of some parameters, updates those, and
gives them to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core.devices import device
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collectives, objects
from torchlike.distributed.algorithms.join import Join, Joinable, JoinHook
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of the class given, whose state is divided among the processes of a group.

    ``state_dict`` is whole in the process in which ``consolidate_state_dict`` collected it.

    Raises:
        RuntimeError: ``state_dict`` in a process before that.
        NotImplementedError: ``overlap_with_ddp``.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True). Use instead: overlap_with_ddp="
                "False, and step() after backward"
            )
        self.process_group = member(process_group)
        self._class = optimizer_class
        self._collected: dict[str, Any] | None = None
        self.initialized = False
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.initialized = True
        self._divide()

    def _partition_parameters(self) -> list[list[dict[str, Any]]]:
        """Return the groups of each rank: parameters go by size, the largest first, always to the
        rank that has the least so far."""
        size = self.process_group.size()
        load = [0] * size
        found: list[list[dict[str, Any]]] = [[] for _ in range(size)]
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k != "params"}
            for rank in range(size):
                found[rank].append({**options, "params": []})
            for p in sorted(group["params"], key=lambda p: -p.numel()):
                to = load.index(min(load))
                found[to][-1]["params"].append(p)
                load[to] += p.numel()
        return found

    def _divide(self) -> None:
        """Give each process its parameters."""
        parts = self._partition_parameters()
        self._owner = {
            id(p): rank for rank, groups in enumerate(parts) for g in groups for p in g["params"]
        }
        self.optim = self._class(parts[self.process_group.rank()], **self.defaults)
        self.state = self.optim.state

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> object:
        """Update this process' parameters, get the others', and return the closure's result."""
        work = Join.notify_join_context(self)
        if work is not None:
            work.wait()
        self._pass_on_options()
        result = self.optim.step(closure, **kwargs) if closure else self.optim.step(**kwargs)
        self._exchange()
        return result

    def _pass_on_options(self) -> None:
        """Copy the groups' options to the inner optimizer: a scheduler writes learning rates here;
        the inner optimizer reads its own."""
        for own, inner in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in own.items():
                if name != "params":
                    inner[name] = value

    def _exchange(self) -> None:
        for rank in range(self.process_group.size()):
            theirs: list[Tensor] = [
                p
                for group in self.param_groups
                for p in group["params"]
                if self._owner[id(p)] == rank
            ]
            if theirs and self.process_group.size() > 1:
                collectives._broadcast_coalesced(theirs, rank, self.process_group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, and divide all anew. State that there is would be lost: RuntimeError."""
        super().add_param_group(param_group)
        if self.initialized:
            if self.optim.state:
                raise RuntimeError(
                    "ZeroRedundancyOptimizer.add_param_group after a step: add groups before"
                )
            self._divide()

    # -- the state ---------------------------------------------------------------------------------

    def _numbers(self) -> dict[int, int]:
        every: Iterable[Tensor] = (p for group in self.param_groups for p in group["params"])
        return {id(p): i for i, p in enumerate(every)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes in one, for ``state_dict``."""
        numbers = self._numbers()
        own = {numbers[id(p)]: dict(state) for p, state in self.optim.state.items()}
        size = self.process_group.size()
        every: list[Any] | None = [None] * size if self.process_group.rank() == to else None
        objects.gather_object(own, every, group=self.process_group, group_dst=to)
        if every is not None:
            self._collected = {i: s for part in every for i, s in part.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state, where it was collected."""
        if self._collected is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.rank()})` on all ranks beforehand "
                "if you meant to save the global state."
            )
        numbers = self._numbers()
        groups = [
            {
                **{k: v for k, v in group.items() if k != "params"},
                "params": [numbers[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        return {"state": dict(sorted(self._collected.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process' part of a whole state."""
        every = [p for group in self.param_groups for p in group["params"]]
        rank = self.process_group.rank()
        whole = state_dict["state"]
        position = 0
        state, groups = {}, []
        for own, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            own.update({k: v for k, v in saved.items() if k != "params"})
            mine = []
            for number, p in zip(saved["params"], own["params"], strict=True):
                if self._owner[id(p)] == rank:
                    if number in whole:
                        state[position] = whole[number]
                    mine.append(position)
                    position += 1
            groups.append({**saved, "params": mine})
        assert every
        self.optim.load_state_dict({"state": state, "param_groups": groups})

    # -- uneven inputs -----------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of a process without input: its step goes on."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> device:
        """The parameters' device."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group."""
        return self.process_group


class _ZeroJoinHook(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self._zero = zero

    def main_hook(self) -> None:
        """Do a step: the others need the parameters that are this process'."""
        self._zero.step()
