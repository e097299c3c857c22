"""`to_optax`: an optimizer as a gradient transformation of optax."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._core import modes
from torchlike.nn.parameter import Parameter
from torchlike.optim.lbfgs import LBFGS
from torchlike.optim.optax_optimizer import Optax
from torchlike.optim.optax_step import optax
from torchlike.optim.optimizer import Optimizer
from torchlike.optim.sparse_adam import SparseAdam
from torchlike.tensor import Tensor, from_jax


class OptimizerState(NamedTuple):
    """How many steps were taken, and each parameter's state by name, zeros before the first."""

    count: Any
    states: tuple[dict[str, Any], ...]


def to_optax(optimizer: Optimizer) -> Any:
    """Make an optimizer an ``optax.GradientTransformation`` with the same update.

    The hyperparameters are those that its groups have when JAX traces the update. With one group
    it takes any pytree of parameters; with several, a flat dictionary by the names under which the
    optimizer got them (``model.named_parameters()``), each of which has the hyperparameters of its
    group. Its ``update`` needs the parameters. It is a function of parameters, gradients and state:
    it works under ``jax.jit`` and ``lax.scan``. The optimizer's own state and parameters stay as
    they are. Of a `Optax` it is the transformation that this was made from.

    An optimizer of the user's own works too, if its ``step`` computes with tensors and keeps
    nothing but tensors in its state.

    Args:
      optimizer: an optimizer with its groups of parameters.

    Returns:
      the transformation: ``init(params)`` and ``update(gradients, state, params)``.

    Raises:
      TypeError: no optimizer; from ``init``, one whose state holds more than tensors.
      NotImplementedError: LBFGS (use optax.lbfgs), whose step evaluates a closure; SparseAdam, for
        gradients of JAX are dense; a `Optax` of several transformations.
      ValueError: from ``init``, parameters that are not those of its groups; from ``update``, no
        parameters.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> sgd = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.5)
      >>> transformation = torchlike.optim.to_optax(sgd)
      >>> params = jnp.ones(2, jnp.float32)
      >>> state = transformation.init(params)
      >>> updates, state = transformation.update(jnp.ones_like(params), state, params)
      >>> optax.apply_updates(params, updates)
      Array([0.5, 0.5], dtype=float32)
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"to_optax takes an optimizer, not {type(optimizer).__name__}")
    if isinstance(optimizer, LBFGS):
        raise NotImplementedError("LBFGS evaluates a closure in its step: use optax.lbfgs")
    if isinstance(optimizer, SparseAdam):
        raise NotImplementedError("gradients of JAX are dense: use Adam instead of SparseAdam")
    if isinstance(optimizer, Optax):
        return optimizer.as_transformation()

    def init(params: Any) -> OptimizerState:
        leaves, groups = _leaves_and_groups(optimizer, params)
        shapes = jax.eval_shape(
            lambda leaves: _stepped(optimizer, groups, leaves, leaves, None)[1], leaves
        )
        return OptimizerState(
            jnp.zeros((), jnp.int32), jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
        )

    def update(updates: Any, state: OptimizerState, params: Any = None) -> tuple[Any, Any]:
        if params is None:
            raise ValueError(
                "an optimizer's update depends on the parameters: give update(params=...)"
            )
        leaves, groups = _leaves_and_groups(optimizer, params)
        gradients = [jnp.asarray(_array(g)) for g in jax.tree.leaves(updates)]

        # The first step makes the state, and may be another rule (SGD's with dampening).
        def first(leaves: Any, gradients: Any, states: Any) -> Any:
            return _stepped(optimizer, groups, leaves, gradients, None)

        def later(leaves: Any, gradients: Any, states: Any) -> Any:
            return _stepped(optimizer, groups, leaves, gradients, states)

        new, states = lax.cond(state.count == 0, first, later, leaves, gradients, state.states)
        moved = [(b - a).astype(a.dtype) for a, b in zip(leaves, new, strict=True)]
        structure = jax.tree.structure(updates)
        return jax.tree.unflatten(structure, moved), OptimizerState(state.count + 1, states)

    return optax.GradientTransformation(init, update)


def _array(leaf: Any) -> Any:
    return leaf._read() if isinstance(leaf, Tensor) else leaf


def _leaves_and_groups(optimizer: Optimizer, params: Any) -> tuple[list[Any], list[int]]:
    """Return the arrays of a tree of parameters, and the number of the group of each."""
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(params)]
    if len(optimizer.param_groups) == 1:
        return leaves, [0] * len(leaves)
    known = {
        name: i
        for i, group in enumerate(optimizer.param_groups)
        for name in group.get("param_names", ())
    }
    if not known:
        raise ValueError(
            "to_optax of an optimizer with several groups knows them by the parameters' names: "
            "make it with named parameters, {'params': [(name, p), ...]}"
        )
    if not isinstance(params, dict) or set(params) != set(known):
        found = sorted(params) if isinstance(params, dict) else type(params).__name__
        raise ValueError(f"the optimizer's groups are of parameters {sorted(known)}, not {found}")
    return leaves, [known[name] for name in sorted(params)]


def _stepped(
    optimizer: Optimizer, groups: list[int], leaves: Any, gradients: Any, states: Any
) -> tuple[list[Any], tuple[dict[str, Any], ...]]:
    """Return parameters and states after a step of the optimizer: a twin of it steps on arrays."""
    with _unseen():
        tensors = [Parameter(from_jax(a)) for a in leaves]
        for p, g in zip(tensors, gradients, strict=True):
            p.grad = from_jax(g.astype(p.dtype.numpy))
        twin = _twin(optimizer, groups, tensors, states)
        twin.step()
        found = tuple([_arrays(optimizer, twin.state.get(p, {})) for p in tensors])
        return [p.detach().jax() for p in tensors], found


@contextmanager
def _unseen() -> Iterator[None]:
    """Hide what runs in a `with` block from a running capture: the step is for JAX to trace."""
    with modes.capturing(None):
        yield


def _twin(
    optimizer: Optimizer, groups: list[int], tensors: Sequence[Tensor], states: Any
) -> Optimizer:
    made = object.__new__(type(optimizer))
    made.__dict__.update(optimizer.__dict__)
    made.__dict__.pop("_hooks", None)
    made.param_groups = [
        {**group, "params": [p for p, own in zip(tensors, groups, strict=True) if own == i]}
        for i, group in enumerate(optimizer.param_groups)
    ]
    made.state = defaultdict(dict)
    if states is None:
        # Some make their state with the optimizer, and not in their first step.
        new: Callable[..., Any] | None = getattr(made, "_new_state", None)
        for p, own in zip(tensors, groups, strict=True):
            if new is not None:
                made.state[p] = new(p, made.param_groups[own])
    else:
        for p, state in zip(tensors, states, strict=True):
            made.state[p] = {name: from_jax(a) for name, a in state.items()}
    return made


def _arrays(optimizer: Optimizer, state: dict[str, Any]) -> dict[str, Any]:
    for name, value in state.items():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"{type(optimizer).__name__} keeps {type(value).__name__} {name!r} in its state: "
                "to_optax takes optimizers whose state is tensors"
            )
    return {name: t.jax() for name, t in state.items() if t is not None}
