"""DistributedDataParallel: one replica of a module in each process, with gradients averaged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchlike._core import modes
from torchlike._core.devices import device
from torchlike._ops.creation.from_data import tensor
from torchlike.distributed import collectives, objects
from torchlike.distributed.algorithms.join import Join, Joinable, JoinHook
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.distributed.reductions import ReduceOp
from torchlike.distributed.utils import send_all
from torchlike.nn.modules.module import Module
from torchlike.nn.parallel.reducer import FIRST_BUCKET, OTHER_BUCKETS, Reducer
from torchlike.tensor import Tensor

_REFUSED = {
    "mixed_precision": "autocast around the forward",
    "delay_all_reduce_named_params": "a communication hook",
    "param_to_hook_all_reduce": "a communication hook",
}


class DistributedDataParallel(Module, Joinable):
    """Wraps a module. Processes begin with the parameters and buffers of rank 0; each backward pass
    gives the mean of their gradients. With one process there is nothing to average.

    ``state_dict`` has the module's names after ``module.``.

    Raises:
        ValueError: before ``init_process_group``.
        RuntimeError: no parameter requires grad; the processes' modules differ; on the next forward
            pass, where a backward pass did not reach all parameters.

    Differs from PyTorch: with ``gradient_as_bucket_view`` gradients are views of their bucket once
    they are averaged, and not in compiled steps or with one process; buckets stay as they were
    made, and with ``static_graph`` unused parameters are looked for at each step.
    """

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Any
    ) -> None:
        """Have a module's parameters and buffers of these names left alone: they are neither
        broadcast nor averaged."""
        ignored = params_and_buffers_to_ignore
        module._ddp_params_and_buffers_to_ignore = ignored
        for name, t in (*module.named_parameters(), *module.named_buffers()):
            if name in ignored:
                t._ddp_ignored = True  # type: ignore[attr-defined]

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        given = {
            "mixed_precision": mixed_precision,
            "delay_all_reduce_named_params": delay_all_reduce_named_params,
            "param_to_hook_all_reduce": param_to_hook_all_reduce,
        }
        for name, value in given.items():
            if value is not None:
                raise NotImplementedError(
                    f"DistributedDataParallel({name}=...). Use instead: {_REFUSED[name]}"
                )
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.process_group = member(
            process_group if device_mesh is None else device_mesh.get_group()
        )
        self.module = module
        self.device_ids = device_ids
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        self._reducer: Reducer | None = None
        if self.process_group.size() > 1:
            named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
            self._begin(named, init_sync, bucket_cap_mb)

    def _begin(
        self, named: Sequence[tuple[str, Any]], init_sync: bool, bucket_cap_mb: float | None
    ) -> None:
        trained = [(n, p) for n, p in named if p.requires_grad]
        if init_sync:
            _check_the_same(trained, self.process_group)
            self._send([*(p for _, p in named), *self._sent_buffers()], 0)
        first, cap = FIRST_BUCKET, OTHER_BUCKETS
        if bucket_cap_mb is not None:
            first = cap = max(1, int(bucket_cap_mb * (1 << 20)))
        finds = self.find_unused_parameters or self.static_graph
        as_views = self.gradient_as_bucket_view
        self._reducer = Reducer(trained, self.process_group, cap, finds, first, as_views)

    def _send(self, tensors: Sequence[Tensor], at: int) -> None:
        send_all(tensors, at, self.process_group)

    def _sent_buffers(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _send_buffers(self, joined: bool) -> None:
        """Broadcast the buffers of rank 0, or of the last rank that has input, to all ranks."""
        buffers = self._sent_buffers()
        if not buffers:
            return
        uneven = joined or self._join_config.enable
        self._send(buffers, _last_of(self.process_group, not joined) if uneven else 0)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, and prepare the averaging of its gradients."""
        reducer = self._reducer
        if reducer is None:
            return self.module(*args, **kwargs)
        if self._join_config.enable:
            modes.running_capture().refuse(
                "DistributedDataParallel in a join() context", "torchlike.jit on the module inside"
            )
        if modes.current.grad_enabled:
            reducer.check()
        if modes.current.grad_enabled and self.require_backward_grad_sync:
            work = Join.notify_join_context(self)
            if work is not None:
                work.wait()
                if not self._divides_by_initial:
                    reducer.divisor = int(work.result()[0].item())
        if self.broadcast_buffers and self.require_forward_param_sync:
            self._send_buffers(joined=False)
        result = self.module(*args, **kwargs)
        if modes.current.grad_enabled:
            reducer.prepare(self.require_backward_grad_sync)
            self.require_forward_param_sync = self.require_backward_grad_sync
        return result

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate the gradients of forward passes within a `with` block in each process, until
        one outside."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def average_gradients(self) -> None:
        """Average the gradients that are there now, as a backward pass outside ``no_sync`` would:
        what a pipeline's step ends with. Not in PyTorch."""
        if self._reducer is not None:
            self._reducer.average_now()

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Have ``hook(state, bucket)`` give a future of what becomes of each bucket.

        TypeError for what cannot be called; RuntimeError for a second one."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._reducer is None:
            return
        if self._reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._reducer.hook = lambda bucket: hook(state, bucket)

    def _set_static_graph(self) -> None:
        self.static_graph = True
        if self._reducer is not None:
            self._reducer.finds_unused = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return how the module is wrapped, under PyTorch's names; not its times."""
        reducer, trained = self._reducer, [p for p in self.parameters() if p.requires_grad]
        sizes = [] if reducer is None else reducer.bucket_bytes()
        return {
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "rank": self.process_group.rank(),
            "world_size": self.process_group.size(),
            "bucket_sizes": ", ".join(map(str, sizes)),
            "num_parameter_tensors": len(trained),
            "total_parameter_size_bytes": sum(p.numel() * p.itemsize for p in trained),
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
        }

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        """Return the inputs, for the one device."""
        return (inputs,), (kwargs,)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """Return the output of the one device."""
        return outputs[0]

    def __getstate__(self) -> dict[str, Any]:
        if self._reducer is not None:
            raise RuntimeError(
                "DistributedDataParallel cannot be pickled while it has a process group. Save its "
                "state_dict(), or pickle its .module"
            )
        return vars(self)

    # -- uneven inputs -----------------------------------------------------------------------------

    _divides_by_initial = True

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return a context in which processes may have fewer inputs than others: see ``Join``."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Record how gradients are divided, and return the hook that stands in for a process
        without input."""
        self._divides_by_initial = kwargs.get("divide_by_initial_world_size", True)
        return _DDPJoinHook(self)

    @property
    def join_device(self) -> device:
        """The parameters' device."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group."""
        return self.process_group


class _DDPJoinHook(JoinHook):
    """Takes part in the collectives of a module that other processes train."""

    def __init__(self, ddp: DistributedDataParallel) -> None:
        self._ddp = ddp

    def main_hook(self) -> None:
        """Take part in a step without input: broadcast the buffers of a process that has input, and
        run a backward pass with zeros."""
        ddp, reducer = self._ddp, self._ddp._reducer
        if reducer is None:
            return
        if ddp.broadcast_buffers:
            ddp._send_buffers(joined=True)
        if not ddp._divides_by_initial:
            reducer.divisor = self.active
        reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take over the parameters and buffers of the last process that had input."""
        ddp = self._ddp
        if ddp._reducer is not None:
            at = _last_of(ddp.process_group, is_last_joiner)
            ddp._send([*ddp.module.parameters(), *ddp._sent_buffers()], at)


def _last_of(group: ProcessGroup, counts: bool) -> int:
    """Return the highest rank of those for which ``counts`` is true."""
    found = tensor(group.rank() if counts else -1)
    collectives.all_reduce(found, ReduceOp.MAX, group)
    return int(found.item())


def _check_the_same(named: Sequence[tuple[str, Any]], group: ProcessGroup) -> None:
    """Raise RuntimeError where the processes have different parameters."""
    own = [(name, str(p.dtype), tuple(p.shape)) for name, p in named]
    every: list[Any] = [None] * group.size()
    objects.all_gather_object(every, own, group)
    for rank, theirs in enumerate(every):
        if len(theirs) != len(own):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {group.rank()} has {len(own)} "
                f"params, while rank {rank} has inconsistent {len(theirs)} params."
            )
        for mine, other in zip(own, theirs, strict=True):
            if mine != other:
                raise RuntimeError(
                    f"DDP expects same model across all ranks: [{mine[0]}] is {mine[1:]} on rank "
                    f"{group.rank()}, [{other[0]}] is {other[1:]} on rank {rank}"
                )


__all__ = ["DistributedDataParallel"]
