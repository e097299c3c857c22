"""`from_nnx`: a module of flax.nnx as a torchlike module."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx

from torchlike.autograd.grad_mode import no_grad
from torchlike.interop.flax.variables import VariableTree
from torchlike.interop.functions import from_jax_function
from torchlike.nn import Module


class NNXModule(Module):
    """A module of flax.nnx: its ``nnx.Param`` are parameters, all other variables buffers.

    Made by ``from_nnx``.

    Example:
      >>> from flax import nnx
      >>> model = torchlike.interop.flax.from_nnx(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
      >>> type(model.to_flax()).__name__
      'Linear'
    """

    def __init__(self, module: Any, method: str = "__call__") -> None:
        super().__init__()
        if not isinstance(module, nnx.Module):
            raise TypeError(f"from_nnx takes a flax.nnx.Module, not {type(module).__name__}")
        copied = nnx.clone(module)
        nnx.pop(copied, nnx.Intermediate)
        self._name = type(module).__name__
        #: By mode: nnx keeps in its structure whether it trains.
        self._structures: dict[bool, Any] = {}
        for training in (False, True):
            copied.train() if training else copied.eval()
            self._structures[training], params, rest = nnx.split(copied, nnx.Param, ...)
        self._params = VariableTree(self, params, trained=True)
        self._rest = VariableTree(self, rest, trained=False)
        self._functions = {
            training: from_jax_function(self._function(structure, method), residuals=True)
            for training, structure in self._structures.items()
        }

    def _function(self, structure: Any, method: str) -> Any:
        """Return a function ``(parameters, other variables, args, kwargs) -> (result, variables
        that changed)``."""
        trees, name = (self._params, self._rest), self._name

        def called(params: Any, rest: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
            states = [
                tree.built(arrays) for tree, arrays in zip(trees, (params, rest), strict=True)
            ]
            module = nnx.merge(structure, *states)
            before = [jax.tree.leaves(s) for s in nnx.split(module, nnx.Param, ...)[1:]]
            result = getattr(module, method)(*args, **kwargs)
            nnx.pop(module, nnx.Intermediate)
            after = nnx.split(module, nnx.Param, ...)[1:]
            changed = [
                tree.changed(old, new, name)
                for tree, old, new in zip(trees, before, after, strict=True)
            ]
            return result, changed

        called.__name__ = name
        return called

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        tensors = self._params.tensors(self), self._rest.tensors(self)
        result, changed = self._functions[self.training](*tensors, args, kwargs)
        with no_grad():
            for own, new in zip(tensors, changed, strict=True):
                for i, value in new.items():  # nnx.WeightNorm writes into parameters, too
                    own[int(i)].copy_(value)
        return result

    def to_flax(self) -> Any:
        """Return a module of flax.nnx with the present values, in this module's mode.

        Returns:
          a module of the class that ``from_nnx`` was given, with copies of the values.
        """
        states = [
            tree.built([t.detach().jax() for t in tree.tensors(self)])
            for tree in (self._params, self._rest)
        ]
        return nnx.merge(self._structures[self.training], *states)

    def extra_repr(self) -> str:
        return self._name


def from_nnx(module: Any, *, method: str = "__call__") -> NNXModule:
    """Make a module of flax.nnx a torchlike module.

    It has copies of the values: from then on the torchlike module is the one that is trained, and
    ``to_flax()`` gives a module of flax.nnx with the values of now. ``nnx.Param`` become
    Parameters, all other variables (statistics, caches, the keys and counts of ``nnx.Rngs``)
    buffers; both have the names that they have in Flax, ``layers.0.kernel``. A call gives tensors
    for arrays, with gradients, and writes the buffers that Flax writes; it is one op on the tape
    and part of the program under ``torchlike.jit``.

    ``train()`` and ``eval()`` are those of Flax, for the whole module. Random numbers come of the
    module's own ``nnx.Rngs``, whose count goes on at each call, eager or compiled:
    ``torchlike.manual_seed`` does not change them, a ``state_dict`` holds them.

    Args:
      module: what is called is a copy of it.
      method: the name of the method that a call is.

    Raises:
      TypeError: no module of flax.nnx.
      NotImplementedError: from a call that adds variables.

    Returns:
      a module whose calls take and give tensors, with gradients.

    Example:
      >>> from flax import nnx
      >>> model = torchlike.interop.flax.from_nnx(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
      >>> model(torch.ones(5, 3)).shape
      torch.Size([5, 2])
      >>> sorted(name for name, _ in model.named_parameters())
      ['bias', 'kernel']
    """
    return NNXModule(module, method)
