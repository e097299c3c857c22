"""JAX's primitives: made, given rules, bound once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax import lax
from jax.interpreters import ad, batching, mlir

from torchlike._runtime.jax_private.names import declare

PRIMITIVE = declare(
    "jax._src.core.Primitive",
    "primitives of our own. It is found as type(lax.add_p), for jax.extend.core loads Pallas",
    "importing torchlike fails",
)
BIND_PARAMS = declare(
    "primitive.get_bind_params",
    "equations evaluated again, with other axes",
    "compiled functions over several processes raise an AttributeError",
)
CONVERT = declare(
    "lax.convert_element_type_p.bind(new_dtype=, weak_type=, sharding=)",
    "a conversion that JAX does not leave out, or to a weak type",
    "compiled functions raise a TypeError",
)
BATCHERS = declare(
    "jax.interpreters.batching.primitive_batchers",
    "rules of vmap for primitives of our own",
    "importing torchlike fails",
)
JVPS = declare(
    "jax.interpreters.ad.primitive_jvps",
    "rules of gradients for primitives of our own",
    "importing torchlike fails",
)


def make_primitive(name: str, is_many: bool = False) -> Any:
    """Make a primitive; one with ``is_many`` gives a list of results."""
    primitive = type(lax.add_p)(name)
    primitive.multiple_results = is_many
    return primitive


def set_batching(primitive: Any, rule: Callable[..., Any]) -> None:
    """Set what ``jax.vmap`` does with a primitive of ours."""
    batching.primitive_batchers[primitive] = rule


def set_jvp(primitive: Any, rule: Callable[..., Any]) -> None:
    """Set what gradients do with a primitive of ours."""
    ad.primitive_jvps[primitive] = rule


def set_lowering(primitive: Any, rule: Callable[..., Any]) -> None:
    """Set what XLA gets for a primitive of ours."""
    mlir.register_lowering(primitive, rule)


def evaluator(primitive: Any, params: Mapping[str, Any]) -> Callable[..., Sequence[Any]]:
    """Return an equation's primitive as a function of its operands that gives all its results."""
    bound = primitive.get_bind_params(params)
    functions, rest = bound if isinstance(bound, tuple) else ((), bound)  # as JAX 0.10 has it

    def evaluate(*args: Any) -> Sequence[Any]:
        found = primitive.bind(*functions, *args, **rest)
        return found if primitive.multiple_results else (found,)

    return evaluate


def rebind(eqn: Any, *operands: Any) -> Any:
    """Bind an equation's primitive with its parameters on other operands."""
    return eqn.primitive.bind(*operands, **eqn.params)


def convert(x: Any, dtype: Any, weak_type: bool) -> Any:
    """Convert an array to a dtype that is weak or not, by an equation that JAX does not leave out
    where nothing changes."""
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)
