"""`Optax`: a gradient transformation of optax as an optimizer."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from torchlike._core import errors, modes
from torchlike._core.errors import JitCaptureError
from torchlike._core.storage import Storage
from torchlike._extensions import meta
from torchlike._runtime.first_calls import DECLINED
from torchlike.autograd.conditional_grad import GIVEN
from torchlike.autograd.grad_mode import no_grad
from torchlike.optim import optax_groups as groups
from torchlike.optim import optax_step
from torchlike.optim.fused import gradient_array
from torchlike.optim.optax_line_search import searched, value_function
from torchlike.optim.optax_state import StateLayout
from torchlike.optim.optax_step import Extra, ParameterTree, Recipe, is_transformation
from torchlike.optim.optimizer import Optimizer, refuse_capture
from torchlike.tensor import Tensor

#: Arguments by which PyTorch's optimizers are tuned.
_HINTS = ("foreach", "fused", "capturable")


class Optax(Optimizer):
    """An optimizer that updates by a transformation of optax.

    The transformation is optax's own object, or a function that makes one, with its
    hyperparameters beside it. As entries of ``param_groups`` these may differ from group to group,
    and schedules of ``lr_scheduler`` change them::

        Optax(model.parameters(), optax.adamw(1e-3))                     # as it is
        Optax(model.parameters(), optax.adamw, lr=1e-3, b1=0.8)          # lr is its learning_rate
        Optax([{"params": body}, {"params": head, "lr": 1e-2}], optax.adamw, lr=1e-3)

    Hyperparameters that are floats (or tensors of one element) are operands of the compiled step:
    another value compiles nothing. optax.inject_hyperparams is not needed for it. Of a
    transformation made before, the rate is its own, and what optax.inject_hyperparams keeps is in
    ``state``, as tensors that may be written.

    optax sees the parameters of a group as a list, or as a dictionary if they are given with names
    (``model.named_parameters()``): masks and labels by name are for such. A group may have its own
    "transformation". One compiled call updates a group.

    The state of group i is ``state["group i"]``, a dictionary of tensors under their places in
    optax's state, made by the first step from the parameters of then.

    Args:
      params: tensors, (name, tensor) pairs, or groups.
      transformation: an ``optax.GradientTransformation``, or a function that returns one.
      maximize: negate the gradients first.
      hyperparameters: of the function; ``lr`` stands for ``learning_rate``. ``foreach``, ``fused``
        and ``capturable`` change nothing.

    Raises:
      TypeError: neither of the two; hyperparameters beside a transformation that has its own, or
        that the function does not have.
      NotImplementedError: ``differentiable=True``.

    Differs from PyTorch: a parameter without gradient stays as it is, but its state sees a gradient
    of zeros if others of the group have one.

    Example:
      >>> import optax
      >>> w = torch.nn.Parameter(torch.ones(2))
      >>> optimizer = torchlike.optim.Optax([w], optax.sgd, lr=0.5)
      >>> w.sum().backward()
      >>> optimizer.step()
      >>> w.detach()
      tensor([0.5000, 0.5000])
    """

    def __init__(
        self, params: Any, transformation: Any, *, maximize: bool = False, **hyperparameters: Any
    ) -> None:
        for hint in _HINTS:
            if hyperparameters.pop(hint, None):
                errors.warn_once(
                    f"Optax updates a group in one compiled call: {hint}=True changes nothing.",
                    UserWarning,
                    2,
                )
        if hyperparameters.pop("differentiable", False):
            raise NotImplementedError(
                "Optax(differentiable=True): use optax itself with jax.grad, or an optimizer of "
                "torchlike.optim, which autograd records"
            )
        if not (is_transformation(transformation) or callable(transformation)):
            raise TypeError(
                "transformation must be an optax.GradientTransformation, or a function that makes "
                f"one (optax.adam), but got {type(transformation).__name__}"
            )
        defaults = {"transformation": transformation, "maximize": maximize, **hyperparameters}
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, which may have its own hyperparameters and its own "transformation"."""
        if isinstance(param_group, dict) and is_transformation(param_group.get("transformation")):
            # The defaults are another one's hyperparameters.
            kept = self.defaults
            self.defaults = {k: v for k, v in kept.items() if k in groups.OWN}
            try:
                super().add_param_group(param_group)
            finally:
                self.defaults = kept
        else:
            super().add_param_group(param_group)
        try:
            groups.complete(self.param_groups[-1])
        except BaseException:
            self.param_groups.pop()
            raise

    # -- stepping ----------------------------------------------------------------------------------

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None, **extra: Any) -> Any:
        """Update every parameter that has a gradient.

        Args:
          closure: recomputes the loss and its gradients. A transformation that asks for them gets
            the loss as ``value``, the gradients as ``grad`` and, for searches along a line,
            ``value_fn``, which calls the closure again.
          extra: further arguments of the transformation's ``update``: tensors, arrays, plain
            values and functions of JAX (``step(value=loss)``, ``step(obj_fn=f)``).

        Returns:
          what the closure returns; None without one.

        Raises:
          TypeError: the transformation asks for an argument that was not given.
          NotImplementedError: a search along a line and several groups.
          JitCaptureError: a search along a line in a compiled function.
        """
        loss = self.loss_of(closure)
        for i, group in enumerate(self.param_groups):
            has = tuple([p._held_grad() is not None for p in group["params"]])
            if any(has):
                arguments = extra if closure is None else {optax_step.OF_CLOSURE: loss, **extra}
                self._update(i, has, arguments, closure)
        return loss

    def _update(
        self, i: int, has: tuple[bool, ...], arguments: dict[str, Any], closure: Any
    ) -> None:
        group = self.param_groups[i]
        params = group["params"]
        recipe, readers = groups.recipe(group)
        tree = groups.tree(group)
        layout = groups.layout(recipe, tree, params)
        state = self.state[f"group {i}"]
        if not state:
            state.update(_first_state(recipe, layout, tree, params, readers))
        owners = [*params, *[state[name] for name in layout.names]]
        numbers = tuple([modes.running_capture().per_call_value(get) for get in readers])
        conditions = _conditions(params, has)
        gradients = _gradients(params, conditions)
        extra, arrays = _split(arguments)
        before = [t._value_now() for t in owners]
        try:
            plain, donating = optax_step.compiled(
                recipe, layout, tree, has, extra, closure is not None
            )
            new = _run(plain, donating, owners, gradients, numbers, arrays)
        except optax_step.NeedsEvaluations:
            if len(self.param_groups) > 1:
                raise NotImplementedError(
                    "a search along a line moves the parameters of one group: give Optax a single "
                    "group, or a transformation without a line search"
                ) from None
            refuse_capture("Optax.step() with a search along a line")
            stepped = functools.partial(
                optax_step.stepped,
                recipe,
                layout,
                tree,
                has,
                extra,
                value_function(tree, params, closure),
            )
            new = searched(stepped, owners, gradients, numbers, arrays)
        except TypeError as error:
            _explain_missing(error, closure is not None)
            raise
        whens = list(conditions.values())
        any_gradient = (
            True if any(w is True for w in whens) else functools.reduce(jnp.logical_or, whens)
        )
        for k, (t, array) in enumerate(zip(owners, new, strict=True)):
            when = conditions.get(k, True) if k < len(params) else any_gradient
            t._write(array if when is True else jnp.where(when, array, before[k]))

    # -- the other way -----------------------------------------------------------------------------

    def as_transformation(self) -> Any:
        """Return the ``optax.GradientTransformation`` of its one group, with the present
        hyperparameters.

        NotImplementedError for several groups: optax.partition has them in one transformation.
        """
        if len(self.param_groups) > 1:
            raise NotImplementedError(
                "Optax of several groups is several transformations: put them into one by "
                "optax.partition"
            )
        recipe, readers = groups.recipe(self.param_groups[0])
        found = recipe.made(tuple([get() for get in readers]))
        return (
            optax_step.optax.chain(optax_step.optax.scale(-1.0), found)
            if recipe.maximize
            else found
        )

    # -- state -------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return state and groups, without the transformations and other functions: a file has no
        place for them, and loading leaves this optimizer's."""
        found = super().state_dict()
        for group in found["param_groups"]:
            for name in groups.unsaved(group):
                del group[name]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state. Raises ValueError where it is not one of this transformation for these
        parameters."""
        kept = [(group, groups.unsaved(group)) for group in self.param_groups]
        before = self.state, self.param_groups
        super().load_state_dict(state_dict)
        for group, (old, names) in zip(self.param_groups, kept, strict=True):
            group.update({name: old[name] for name in names})
        try:
            self._check_state()
        except ValueError:
            self.__setstate__({"state": before[0], "param_groups": before[1]})
            raise

    def _check_state(self) -> None:
        known = {f"group {i}": group for i, group in enumerate(self.param_groups)}
        for key, saved in self.state.items():
            if key not in known:
                raise ValueError(
                    f"loaded state dict has a state of {'a parameter' if isinstance(key, Tensor) else key}"  # noqa: E501
                    ", which is not Optax's: it was saved by another optimizer"
                )
            group = known[key]
            recipe, _ = groups.recipe(group)
            groups.layout(recipe, groups.tree(group), group["params"]).check(saved, key)


def _first_state(
    recipe: Recipe, layout: StateLayout, tree: ParameterTree, params: Sequence[Tensor], readers: Any
) -> dict[str, Tensor]:
    """Return the state before the first step, made outside of a running capture."""
    arrays = tuple([p._read() for p in params])
    if any(isinstance(a, core.Tracer) for a in arrays):
        raise JitCaptureError(
            "Optax makes its state from the parameters of its first step, and this compiled "
            "function made or changed them before: take the first step outside of it"
        )
    first, unseen = optax_step.initial(recipe, layout, tree), modes.running_capture().unseen
    with modes.outside():
        numbers = tuple([get() for get in readers])
        if meta.involved(arrays):
            made = meta.call(first, arrays, numbers)
        else:
            made = unseen(first, arrays, numbers)
        return {name: Tensor._on(Storage(a)) for name, a in zip(layout.names, made, strict=True)}


def _conditions(params: Sequence[Tensor], has: tuple[bool, ...]) -> dict[int, Any]:
    """Return, for each parameter that has a gradient, the condition on which it has one (mostly
    True: only in a compiled function may a value decide of it)."""
    capture = modes.running_capture()
    given = [k for k, one in enumerate(has) if one]
    if not capture.conditions:
        return dict.fromkeys(given, True)
    return {k: capture.condition_of(params[k]._grad)[GIVEN] for k in given}


def _gradients(params: Sequence[Tensor], conditions: dict[int, Any]) -> tuple[Any, ...]:
    """Return the gradients that there are, with zeros where their condition does not hold."""
    arrays = []
    for k, when in conditions.items():
        array = gradient_array(params[k])
        arrays.append(array if when is True else jnp.where(when, array, jnp.zeros_like(array)))
    return tuple(arrays)


def _split(arguments: dict[str, Any]) -> tuple[Extra, tuple[Any, ...]]:
    """Split further arguments of ``update`` into their structure and their arrays. Raises TypeError
    for a plain value that has no hash: the step is compiled for it."""
    leaves, tree = jax.tree.flatten(arguments, is_leaf=lambda x: isinstance(x, Tensor))
    plain: list[tuple[int, Any]] = []
    arrays: list[Any] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, (Tensor, jax.Array, np.ndarray, float)):
            arrays.append(leaf._read() if isinstance(leaf, Tensor) else leaf)
        else:
            hash(leaf)
            plain.append((i, leaf))
    return Extra(tree, tuple(plain)), tuple(arrays)


def _run(
    plain: Any, donating: Any, owners: Sequence[Tensor], gradients: Any, numbers: Any, arrays: Any
) -> Any:
    """Run the compiled step: in the memory of parameters and state where nobody else holds it."""
    alone = all(t._view is None and t._storage.is_sole_owner() for t in owners)
    donate = alone and not modes.is_capturing()
    owned = tuple([t._value_now() for t in owners])
    if any(type(array) is np.ndarray for array in (*owned, *gradients, *arrays)):
        new = plain.by_numpy(owned, gradients, numbers, arrays)
        if new is not DECLINED:
            return new
        owned = tuple([t._read() for t in owners])
    if meta.involved((owned, gradients)):
        return meta.call(plain, owned, gradients, numbers, arrays)
    form = donating if donate else plain
    return modes.running_capture().unseen(form, owned, gradients, numbers, arrays)


def _explain_missing(error: TypeError, with_closure: bool) -> None:
    """Raise a TypeError that says how to give an argument that ``update`` misses, where the error
    is about one."""
    missing = re.search(r"missing \d+ required (?:keyword-only )?arguments?: (.*)", str(error))
    if missing is None:
        return
    how = (
        "step(name=...)"
        if with_closure
        else (
            "step(closure), whose closure recomputes the loss and its gradients, or step(name=...)"
        )
    )
    raise TypeError(
        f"the transformation's update asks for {missing.group(1)}: give it by {how}"
    ) from error
