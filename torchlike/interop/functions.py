"""``from_jax_function``: a JAX function as an op on the tape."""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.record import execute
from torchlike._jit.guards.keys import static_key
from torchlike.interop import modules
from torchlike.interop.leaves import is_tensor_or_module
from torchlike.interop.trace_guards import TraceGuards
from torchlike.nn import Module
from torchlike.tensor import Tensor

#: Executables of one function; of more signatures, the one unused for longest goes.
_MOST = 256


class _CompiledFunction:
    """The function for one signature: its executable, and the structure of what it returns."""

    __slots__ = ("exe", "out_tree", "trace_guards")

    def __init__(
        self,
        function: Callable[..., Any],
        tree: Any,
        statics: tuple[Any, ...],
        mask: int,
        arrays: list[Any],
        residuals: bool,
    ) -> None:
        self.out_tree: Any = None
        #: Plain Python values that the function read, which its trace has frozen.
        self.trace_guards = TraceGuards()

        def pure(*operands: Any) -> tuple[Any, ...]:
            arrays = iter(operands)
            leaves = [
                next(arrays)
                if s is _OPERAND
                else modules.unflatten(s.structure, [next(arrays) for _ in range(s.n)])
                if type(s) is _Module
                else s
                for s in statics
            ]
            args, kwargs = jax.tree_util.tree_unflatten(tree, leaves)
            with self.trace_guards.watching(), _as_in_jax():
                result = function(*args, **kwargs)
            found, self.out_tree = jax.tree_util.tree_flatten(result)
            return tuple(jnp.asarray(o) for o in found)

        name = getattr(function, "__name__", type(function).__name__)
        # A backward that computes the forward again would write to its `jax.Ref`s again.
        keeps = residuals or bool(mask and _effects(pure, arrays))
        self.trace_guards = TraceGuards()  # of the traces that are used
        self.exe = Executable(f"{name}Backward", pure, mask, len(arrays), residuals=keeps)


def _effects(function: Callable[..., Any], arrays: list[Any]) -> Any:
    """Return what a function of arrays does beside computing, as JAX knows it."""
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    return jax.make_jaxpr(function)(*shapes).effects


@contextlib.contextmanager
def _as_in_jax() -> Iterator[None]:
    """Hide from the tape and from a running capture, within a `with` block, what a function does
    with tensors of its own: that is for JAX to see."""
    current = modes.current
    previous = current.grad_enabled, current.within_jax_function
    current.grad_enabled, current.within_jax_function = False, True
    try:
        with modes.capturing(None):
            yield
    finally:
        current.grad_enabled, current.within_jax_function = previous


class _Operand:
    def __repr__(self) -> str:
        return "an array"


_OPERAND: Any = _Operand()


class _Module(NamedTuple):
    """A module among the arguments: its structure, and how many of the operands are its own."""

    structure: Any
    n: int


def from_jax_function(
    function: Callable[..., Any] | None = None, *, residuals: bool = False
) -> Callable[..., Any]:
    """Make a JAX function an op on tensors; also a decorator.

    The result takes pytrees whose leaves are tensors, modules (the function gets a copy; gradients
    reach the parameters), NumPy or JAX arrays, and plain values, and gives the function's pytree
    with a tensor for each array. It is recorded like any op, as one node: gradients of any order
    are those of JAX, through the function's ``jax.custom_vjp`` or ``custom_jvp`` where it has them.
    It is compiled once for each signature, and becomes part of the program inside
    ``torchlike.jit``. A plain Python value that it reads (a global, a closure variable) may change
    between calls: it is compiled again, as is a jitted function that uses it. A ``jax.Ref`` among
    the arguments, or that the function has from outside, is read and written by each call; a write
    that depends on a tensor with a gradient needs ``jax.lax.stop_gradient``.

    Args:
      function: a pure function of pytrees of arrays. Plain values (numbers, strings, None) reach
        it as they are, and each new one compiles again: pass what changes often as a tensor.
      residuals: keep what ``jax.vjp`` saves for backward instead of computing the forward again
        (for a dear forward).

    Raises:
      TypeError: an argument that is neither an array nor hashable.
      RuntimeError: a plain value that the function read in its forward pass has another value when
        its backward is traced.

    Returns:
      the op; without ``function``, the decorator.

    Example:
      >>> import jax.numpy as jnp
      >>> square = torchlike.from_jax_function(lambda x: {"y": jnp.square(x)})
      >>> x = torch.tensor([1.0, 3.0], requires_grad=True)
      >>> square(x)["y"].sum().backward()
      >>> x.grad
      tensor([2., 6.])
    """
    if function is None:
        return functools.partial(from_jax_function, residuals=residuals)
    fn: Callable[..., Any] = function
    cache: OrderedDict[Any, _CompiledFunction] = OrderedDict()

    @functools.wraps(fn)
    def op(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs), is_leaf=is_tensor_or_module)
        operands: list[Any] = []
        arrays: list[Any] = []
        statics: list[Any] = []
        key: list[Any] = [tree, dtypes.get_default_dtype()]
        mask = 0

        def add(operand: Any, array: Any) -> None:
            nonlocal mask
            if isinstance(operand, Tensor) and operand.requires_grad and modes.current.grad_enabled:
                mask |= 1 << len(operands)
            operands.append(operand)
            arrays.append(array)
            key.append((array.shape, array.dtype))

        for leaf in leaves:
            if isinstance(leaf, Module):
                inside, structure = modules.flatten(leaf)
                for t, array in zip(modules.tensors_of(leaf).values(), inside, strict=True):
                    add(t, array)
                statics.append(_Module(structure, len(inside)))
                key.append(structure)
            elif isinstance(leaf, (Tensor, jax.Array, np.ndarray)):
                add(leaf, leaf._read() if isinstance(leaf, Tensor) else jnp.asarray(leaf))
                statics.append(_OPERAND)
            else:
                statics.append(leaf)
                key.append(static_key(leaf))
        signature = (*key, mask)
        compiled = cache.get(signature)
        if compiled is None or not compiled.trace_guards.check():
            compiled = _CompiledFunction(fn, tree, tuple(statics), mask, arrays, residuals)
            cache[signature] = compiled
            if len(cache) > _MOST:
                cache.popitem(last=False)
        else:
            cache.move_to_end(signature)
        found = execute(compiled.exe, arrays, operands)
        compiled.trace_guards.hand_on()
        return jax.tree_util.tree_unflatten(compiled.out_tree, list(found))

    return op
