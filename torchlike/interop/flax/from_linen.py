"""`from_linen`: a module of flax.linen and its variables as a torchlike module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp

from torchlike.autograd.grad_mode import no_grad
from torchlike.interop.flax.variables import VariableTree
from torchlike.interop.functions import from_jax_function
from torchlike.nn import Module
from torchlike.tensor import from_jax

#: Arguments by which Flax's modules are told whether they train, and what they are then.
_MODES = {
    "train": True,
    "training": True,
    "is_training": True,
    "deterministic": False,
    "use_running_average": False,
}


class LinenModule(Module):
    """A module of flax.linen: "params" are parameters, all other collections buffers.

    Made by ``from_linen``.

    Example:
      >>> import flax.linen, jax, jax.numpy as jnp
      >>> dense = flax.linen.Dense(2)
      >>> variables = dense.init(jax.random.key(0), jnp.ones((1, 3)))
      >>> model = torchlike.interop.flax.from_linen(dense, variables)
      >>> sorted(name for name, _ in model.named_parameters())
      ['bias', 'kernel']
      >>> jax.tree.map(jnp.shape, model.to_flax())
      {'params': {'bias': (2,), 'kernel': (3, 2)}}
    """

    def __init__(
        self, module: Any, variables: Any, rngs: Mapping[str, Any] | None, method: str
    ) -> None:
        super().__init__()
        if not isinstance(module, flax.linen.Module):
            raise TypeError(f"from_linen takes a flax.linen.Module, not {type(module).__name__}")
        if not (
            isinstance(variables, Mapping)
            and all(isinstance(v, Mapping) for v in variables.values())
        ):
            raise TypeError(
                "variables are what module.init(key, *inputs) gives: a dictionary of collections"
            )
        self._module, self._method = module, method
        collections = dict(variables)
        self._params = VariableTree(self, collections.pop("params", {}), trained=True)
        self._rest = VariableTree(self, collections, trained=False)
        self._streams = tuple(sorted(rngs or {}))
        self._keys = VariableTree(self, {"rngs": dict(rngs or {})}, trained=False)
        if self._streams:
            self.register_buffer("rng_count", from_jax(jnp.zeros((), jnp.int32)))
        taken = inspect.signature(getattr(type(module), method)).parameters
        self._modes = {name: when for name, when in _MODES.items() if name in taken}
        self._functions = {
            training: from_jax_function(self._function(training), residuals=True)
            for training in (False, True)
        }

    def _function(self, training: bool) -> Any:
        """Return a function ``(parameters, collections, keys, count, args, kwargs) -> (result, what
        changed)``."""
        trees, module, method = (self._params, self._rest, self._keys), self._module, self._method

        def called(
            params: Any, rest: Any, keys: Any, count: Any, args: Any, kwargs: Any
        ) -> tuple[Any, dict[str, Any]]:
            collections = trees[1].built(rest)
            rngs = {
                name: jax.random.fold_in(key, count)
                for name, key in trees[2].built(keys)["rngs"].items()
            }
            variables = {"params": trees[0].built(params), **collections}
            result = module.apply(
                variables,
                *args,
                rngs=rngs,
                method=method,
                mutable=list(collections) if training else False,
                **kwargs,
            )
            if not training:
                return result, {}
            result, written = result
            written = {name: written.get(name, held) for name, held in collections.items()}
            return result, trees[1].changed(
                jax.tree.leaves(collections), written, type(module).__name__
            )

        called.__name__ = type(module).__name__
        return called

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        for name, when in self._modes.items():
            kwargs.setdefault(name, self.training is when)
        rest = self._rest.tensors(self)
        count = self.rng_count if self._streams else 0
        result, changed = self._functions[self.training](
            self._params.tensors(self), rest, self._keys.tensors(self), count, args, kwargs
        )
        with no_grad():
            for i, value in changed.items():
                rest[int(i)].copy_(value)
            if self._streams and self.training:
                self.rng_count.add_(1)
        return result

    def to_flax(self) -> dict[str, Any]:
        """Return the present variables, as ``module.apply`` takes them.

        Returns:
          a dictionary of collections, ``{"params": {…}}``, of copies as JAX's arrays.
        """
        params, rest = (
            tree.built([t.detach().jax() for t in tree.tensors(self)])
            for tree in (self._params, self._rest)
        )
        return {"params": params, **rest}

    def extra_repr(self) -> str:
        return type(self._module).__name__


def from_linen(
    module: Any, variables: Any, *, rngs: Mapping[str, Any] | None = None, method: str = "__call__"
) -> LinenModule:
    """Make a module of flax.linen and its variables a torchlike module.

    It has copies of the values, and ``to_flax()`` gives the variables of now for ``module.apply``.
    "params" become Parameters under their names in Flax (``Dense_0.kernel``), all other collections
    buffers (``batch_stats.BatchNorm_0.mean``), which calls in training mode write.

    The argument by which the module is told whether it trains (``train``, ``training``,
    ``is_training``, ``deterministic`` or ``use_running_average``) follows ``train()`` and
    ``eval()`` where a call leaves it out.

    Args:
      module: the module.
      variables: what ``module.init(key, *inputs)`` gave.
      rngs: a key of ``jax.random`` for each stream that calls draw from, ``{"dropout": key}``. A
        call in training mode draws from the key and the number of calls before, which are buffers.
      method: the name of the method that a call is.

    Raises:
      TypeError: no module of flax.linen, or no variables.
      NotImplementedError: from a call that adds variables.

    Returns:
      a module whose calls take and give tensors, with gradients.

    Example:
      >>> import flax.linen, jax, jax.numpy as jnp
      >>> dense = flax.linen.Dense(2)
      >>> variables = dense.init(jax.random.key(0), jnp.ones((1, 3)))
      >>> model = torchlike.interop.flax.from_linen(dense, variables)
      >>> model(torch.ones(5, 3)).shape
      torch.Size([5, 2])
    """
    return LinenModule(module, variables, rngs, method)
