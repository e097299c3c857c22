"""`to_nnx`: a torchlike module as a module of flax.nnx."""

from __future__ import annotations

from typing import Any

from flax import nnx

from torchlike._core import modes
from torchlike.interop import modules
from torchlike.interop.to_jax import to_jax_function
from torchlike.nn import Module
from torchlike.tensor import from_jax


class _Held:
    """The torchlike module, which nnx is not to take apart."""

    def __init__(self, module: Module) -> None:
        self.module = module


class TorchlikeModule(nnx.Module):
    """A torchlike module: ``parameters`` are ``nnx.Param`` and ``buffers`` ``nnx.BatchStat``, both
    by the names of ``named_parameters()`` and ``named_buffers()``.

    Made by ``to_nnx``.

    Example:
      >>> module = torchlike.interop.flax.to_nnx(torch.nn.Linear(3, 2))
      >>> module.to_torchlike()
      Linear(in_features=3, out_features=2, bias=True)
    """

    def __init__(self, module: Module) -> None:
        self.parameters = nnx.Dict(
            {name: nnx.Param(p.detach().clone().jax()) for name, p in module.named_parameters()}
        )
        self.buffers = nnx.Dict(
            {name: nnx.BatchStat(b.detach().clone().jax()) for name, b in module.named_buffers()}
        )
        #: What nnx's ``train()`` and ``eval()`` set.
        self.deterministic = not module.training
        self._held = _Held(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        twin = modules.twin(self._held.module)
        values = {**self.parameters, **self.buffers}
        modules.put(twin, {name: from_jax(v[...]) for name, v in values.items()})
        if twin.training is self.deterministic:
            twin.train(not self.deterministic)
        before = {name: b.jax() for name, b in twin.named_buffers()}
        with modes.capturing(None):
            result = to_jax_function(twin)(*args, **kwargs)
        for name, b in twin.named_buffers():
            if name in self.buffers and b.jax() is not before[name]:
                self.buffers[name][...] = b.jax()
        return result

    def to_torchlike(self) -> Module:
        """Return a torchlike module with the present values, in this module's mode.

        Returns:
          a module of the class that ``to_nnx`` was given, with copies of the values.
        """
        made = modules.twin(self._held.module)
        values = {**self.parameters, **self.buffers}
        modules.put(made, {name: from_jax(v[...]).clone() for name, v in values.items()})
        return made.train(not self.deterministic)


def to_nnx(module: Module) -> TorchlikeModule:
    """Make a torchlike module a module of flax.nnx.

    It has copies of the values: from then on the module of flax.nnx is the one that is trained, and
    ``to_torchlike()`` gives a torchlike module with the values of now. Calls take arrays and give
    arrays, and run under ``nnx.jit``, ``nnx.grad`` and kin; gradients are JAX's. Statistics that
    the module writes are written into its ``nnx.BatchStat``. ``train()`` and ``eval()`` are of the
    whole module; it begins in the mode of ``module``.

    Random numbers (Dropout) come from torchlike's generator, by a call to the host where JAX
    compiles: ``torchlike.manual_seed`` is their seed, and ``nnx.Rngs`` has no part in them.

    Raises:
      TypeError: no torchlike module.

    Args:
      module: what is called is a copy of it.

    Returns:
      a ``flax.nnx.Module`` whose calls take and give arrays.

    Example:
      >>> import jax.numpy as jnp
      >>> module = torchlike.interop.flax.to_nnx(torch.nn.Linear(3, 2))
      >>> module(jnp.ones((5, 3), jnp.float32)).shape
      (5, 2)
    """
    if not isinstance(module, Module):
        raise TypeError(f"to_nnx takes a torchlike.nn.Module, not {type(module).__name__}")
    return TorchlikeModule(module)
