"""``FullyShardedDataParallel``: the older form, a wrapper around the module that it shards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import jax

from torchlike.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.fsdp._fully_shard import fully_shard
from torchlike.distributed.fsdp._keys import rekeyed
from torchlike.distributed.fsdp._policies import MixedPrecisionPolicy
from torchlike.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from torchlike.distributed.fsdp.wrap import wrap_children
from torchlike.distributed.groups import get_rank, is_initialized
from torchlike.distributed.tensor._api import full_tensor, where
from torchlike.nn.modules.module import Module
from torchlike.nn.state import _IncompatibleKeys
from torchlike.nn.utils.clip_grad import clip_grad_norm_
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]

_WRAPPED = "_fsdp_wrapped_module"
_AGAIN = (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)


def _is_for_rank_0(config: Any) -> bool:
    """Return whether a state dict is for rank 0 alone, and this is another."""
    return getattr(config, "rank0_only", False) and is_initialized() and get_rank() > 0


class FullyShardedDataParallel(Module):
    """A module whose parameters lie in parts on the devices of a mesh: a wrapper over
    ``fully_shard``.

    NotImplementedError for parameters offloaded to the host, and for hybrid sharding without
    ``device_mesh``. ``NO_SHARD`` is a mesh whose parts are of one device. Differs from PyTorch:
    parameters are not flattened, whatever ``use_orig_params`` says.
    """

    def __init__(
        self,
        module: Any,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = _mesh_for(strategy, device_mesh, module)
        if cpu_offload is not None and cpu_offload.offload_params and mesh.device_type != "cpu":
            raise NotImplementedError(
                "CPUOffload(offload_params=True): parameters wait on their devices; use a larger "
                "mesh, or activation checkpointing"
            )
        ignored = _modules_and_parameters(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            same: dict[str, Any] = {
                "sharding_strategy": strategy,
                "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn,
                "device_mesh": mesh,
                "ignored_states": [x for x in ignored if isinstance(x, Tensor)],
            }

            def wrapper(child: Any, **own: Any) -> Module:
                return FullyShardedDataParallel(child, **{**same, **own})

            wrap_children(module, auto_wrap_policy, wrapper, {id(x) for x in ignored})
        if param_init_fn is not None and any(p.is_meta for p in module.parameters()):
            for part in module.modules():
                if any(p.is_meta for p in part.parameters(recurse=False)):
                    param_init_fn(part)
        if mixed_precision is not None and mixed_precision.buffer_dtype is not None:
            _cast_buffers(module, mixed_precision.buffer_dtype)
        self.sharding_strategy = strategy
        self.mixed_precision = mixed_precision or MixedPrecision()
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT)
        fully_shard(
            module,
            mesh=mesh,
            reshard_after_forward=strategy in _AGAIN,
            mp_policy=_policy(mixed_precision),
            ignored_params=[p for x in ignored for p in _parameters(x)],
        )
        self.add_module(_WRAPPED, module)

    @property
    def module(self) -> Module:
        """The module that it wraps."""
        return self._modules[_WRAPPED]

    def forward(self, *args: Any, **kwargs: Any) -> object:
        return self.module(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _WRAPPED:
                raise
            return getattr(self._modules[_WRAPPED], name)

    def __getitem__(self, key: int) -> Module:
        wrapped: Any = self.module
        return wrapped[key]

    # -- training ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do nothing in a ``with`` block: gradients accumulate in parts, as sums over all
        devices."""
        yield

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Do ``torch.nn.utils.clip_grad_norm_`` of all parameters, and return the norm as a plain
        tensor."""
        total = clip_grad_norm_(self.parameters(), float(max_norm), float(norm_type))
        return total if where(total) is None else full_tensor(total)

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """Return the wrappers in a module; with ``root_only`` those in no other."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {id(x) for m in found for x in m.modules() if x is not m}
        return [m for m in found if id(m) not in inner]

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Any,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Do nothing in a ``with`` block: parameters have their whole size to the script at all
        times, and writes reach the parts. NotImplementedError for ``writeback=False``."""
        if not writeback:
            raise NotImplementedError(
                "summon_full_params(writeback=False): take p.full_tensor() of the parameters"
            )
        yield

    # -- state dicts -------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return the wrapped module's state dict, by its own names; whole tensors unless
        ``set_state_dict_type`` said otherwise."""
        found = super().state_dict(
            *args, destination=destination, prefix=prefix, keep_vars=keep_vars
        )
        if destination is not None:
            return found
        whole = self._settings.state_dict_type is StateDictType.FULL_STATE_DICT
        offload = self._settings.state_dict_config.offload_to_cpu
        for name in list(found):
            value = found.pop(name)
            if whole and isinstance(value, Tensor) and where(value) is not None:
                value = full_tensor(value)
            found[_clean(name)] = value.cpu() if offload else value
        if whole and _is_for_rank_0(self._settings.state_dict_config):
            found.clear()
        return found

    def load_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> _IncompatibleKeys:
        """Load by the wrapped module's own names."""
        own = {_clean(name): name for name in super().state_dict()}
        given = {own.get(name, name): value for name, value in state_dict.items()}
        return super().load_state_dict(given, *args, **kwargs)

    @staticmethod
    def set_state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say what state dicts of the wrappers in a module hold; gives what was said before."""
        if state_dict_type is StateDictType.LOCAL_STATE_DICT:
            raise NotImplementedError(
                "LOCAL_STATE_DICT: parameters are not flattened; use SHARDED_STATE_DICT"
            )
        said = StateDictSettings(
            state_dict_type,
            state_dict_config or FullStateDictConfig(),
            optim_state_dict_config or FullOptimStateDictConfig(),
        )
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for m in FullyShardedDataParallel.fsdp_modules(module):
            m._settings = said
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """Return the settings that ``set_state_dict_type`` was given last."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else StateDictSettings(StateDictType.FULL_STATE_DICT)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Have the settings of ``set_state_dict_type`` in a ``with`` block."""
        cls = FullyShardedDataParallel
        before = cls.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for m in cls.fsdp_modules(module):
                m._settings = before

    @staticmethod
    def optim_state_dict(
        model: Any, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """Return the optimizer's state by the names of parameters, of the kind that
        ``set_state_dict_type`` said. NotImplementedError for a state dict that is given."""
        if optim_state_dict is not None:
            raise NotImplementedError("optim_state_dict(optim_state_dict=…): give the optimizer")
        said = FullyShardedDataParallel.get_state_dict_type(model)
        whole = said.state_dict_type is StateDictType.FULL_STATE_DICT
        offload = said.optim_state_dict_config.offload_to_cpu
        options = StateDictOptions(full_state_dict=whole, cpu_offload=offload and whole)
        found = get_optimizer_state_dict(model, optim, options=options)
        return {} if whole and _is_for_rank_0(said.optim_state_dict_config) else found

    full_optim_state_dict = optim_state_dict

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Module,
        optim_input: Any = None,
        optim: Optimizer | None = None,
    ) -> dict[str, Any]:
        """Return an optimizer's state dict by names of parameters, or by their numbers.

        Args:
            optim_state_dict: what it is of, by the others.
            optim_state_key_type: by which it is wanted; one that is by these is returned itself.
            model: has the parameters by their names.
            optim_input: what the optimizer was made of, groups or parameters. Without it and
                ``optim`` these are the model's parameters.
            optim: the optimizer.

        Raises:
            ValueError: the state has names and numbers, or ``optim_input`` is given beside
                ``optim``.
        """
        return rekeyed(optim_state_dict, optim_state_key_type, model, optim_input, optim)

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: Any,
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """Load a state by names into the optimizer, and return what ``optim.load_state_dict`` takes
        for it. Differs from PyTorch: it is loaded at once also without ``load_directly``."""
        set_optimizer_state_dict(model, optim, optim_state_dict)
        return optim.state_dict()


def _clean(name: str) -> str:
    return name.replace(f"{_WRAPPED}.", "")


def _mesh_for(strategy: ShardingStrategy, mesh: DeviceMesh | None, module: Any) -> DeviceMesh:
    hybrid = strategy.name.strip("_").startswith("HYBRID")
    if mesh is None:
        if hybrid:
            raise NotImplementedError(
                "hybrid sharding without device_mesh: pass one of two dimensions, "
                "init_device_mesh(device_type, (replicas, parts))"
            )
        p = next(iter(module.parameters()), None)
        kind = "cpu" if p is None or p.is_meta else p.device.type
        mesh = init_device_mesh(kind, (len(jax.devices()),))
    if strategy is ShardingStrategy.NO_SHARD:
        return mesh if mesh.ndim == 2 else DeviceMesh(mesh.device_type, mesh.mesh.reshape(-1, 1))
    if (mesh.ndim == 2) is not hybrid:
        raise ValueError(f"{strategy} takes a mesh of {1 + hybrid} dimensions, not {mesh}")
    return mesh


def _policy(mixed: MixedPrecision | None) -> MixedPrecisionPolicy | None:
    if mixed is None:
        return None
    return MixedPrecisionPolicy(param_dtype=mixed.param_dtype, reduce_dtype=mixed.reduce_dtype)


def _modules_and_parameters(modules: Any, states: Any) -> list[Any]:
    found = [*(modules or ()), *(states or ())]
    inside = [x for m in found if isinstance(m, Module) for x in m.modules()]
    return [*inside, *(x for x in found if isinstance(x, Tensor))]


def _parameters(x: Any) -> Iterable[Any]:
    return (x,) if isinstance(x, Tensor) else x.parameters()


def _cast_buffers(module: Any, dtype: Any) -> None:
    for part in module.modules():
        for name, buffer in part._buffers.items():
            if buffer is not None and buffer.is_floating_point():
                part._buffers[name] = buffer.to(dtype)
