"""How random numbers come to be a tensor's, in the order of PyTorch's generators: those of the CPU
drawn on the host, those of a GPU computed where they are used, from a key.

While a capture runs, a draw (of a GPU: its key) becomes an input of the program: the same draw is
made again, in the same order, before every later run; so a seed gives the same masks and samples
eagerly and jitted, and the generator advances the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core
from jax.experimental import io_callback

from torchlike._core import devices, errors, modes, views
from torchlike._core.dispatch.copying import array_to_device_of
from torchlike._core.dispatch.inplace import assign
from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Input, Inputs
from torchlike._core.errors import allocating
from torchlike._core.storage import host_value
from torchlike._core.tape import check_in_place, check_inference
from torchlike._extensions import boxes
from torchlike._extensions.meta import MetaArray
from torchlike._ops.creation.wrap_result import finish_into
from torchlike._ops.memory_order import strides_like
from torchlike._runtime import mixed_operands
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.jax_private.tracing import trace_state_clean
from torchlike.random.cuda.stream import FILLS
from torchlike.random.engine import Engine
from torchlike.random.generator import Generator, default_generator, default_of
from torchlike.tensor import Tensor, wrap

Fill = Callable[[Any], Any]


class Sized:
    """A fill of a size. The examples of a ``vmap`` are filled together, as one tensor: how normal
    numbers are made depends on how many there are."""

    __slots__ = ("of", "size")

    def __init__(self, of: Callable[[tuple[int, ...]], Fill], size: tuple[int, ...]) -> None:
        self.of, self.size = of, size

    def __call__(self, engine: Engine) -> np.ndarray:
        return self.of(self.size)(engine)


def source_of(generator: Generator | None, at: Tensor | devices.device | None = None) -> Generator:
    """Return the generator that is drawn from: the default one of the device ``at`` (of a tensor's)
    where none is given. TypeError for what is no generator."""
    if generator is None:
        if at is None or host().is_default:
            return default_generator
        return default_of(at.device if isinstance(at, Tensor) else at)
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be a torch.Generator, not {type(generator).__name__}")
    return generator


def draw(generator: Generator | None, fill: Fill, at: Tensor | devices.device | None = None) -> Any:
    """Draw ``fill(engine)`` and return it as an array; while capturing, one that is drawn anew for
    each run: numbers of the CPU's generator are an input of the program, numbers of a GPU's are
    computed in it from a seed and an offset that are. ``at`` is that of `source_of`.

    Inside a ``vmap`` with randomness="different" it is drawn for all examples at once where the
    fill is `Sized`, else once for each, in order.
    """
    levels = boxes.drawing_levels()
    # Looked at here, for the most frequent call: a look-up less.
    is_default = generator is None and (at is None or host().is_default)
    source = default_generator if is_default else source_of(generator, at)
    if not levels:
        return _draw(source, fill)
    sizes = tuple(level.size for level in levels)

    def rows(engine: Any) -> Any:
        if isinstance(fill, Sized):
            return fill.of((*sizes, *fill.size))(engine)
        each = [fill(engine) for _ in range(math.prod(sizes))]
        stacked = (jnp if source.is_of_gpu else np).stack(each)
        return stacked.reshape(*sizes, *stacked.shape[1:])

    made = wrap(_draw(source, rows))
    for level in levels:
        made = wrap(boxes.Batched(level, made))
    return made._value_now()


def by_values(sample: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """Return ``sample(*parameters)``, which looks at values, inside of transforms too: without
    tangents, and in a ``vmap`` for all examples at once, along a first dimension, as PyTorch draws.

    RuntimeError in PyTorch's words where the examples are to have the same random numbers.
    """
    cells = [p._value_now() for p in parameters]
    level: Any = boxes.top(cells)
    if level is None:
        made = sample(*parameters)
        return made if host().is_default else wrap(array_to_device_of(made._read(), parameters[0]))
    boxed = [type(c) in boxes.BOXES and c.level is level for c in cells]
    inside = [c.value if b else p for c, b, p in zip(cells, boxed, parameters, strict=True)]
    rows = [b and getattr(c, "batched", False) for c, b in zip(cells, boxed, strict=True)]
    if not any(rows):
        return by_values(sample, *inside)
    if level not in boxes.drawing_levels():
        raise RuntimeError(errors.VMAP_SAME_OF_EACH)
    rank = 1 + max(p.dim() for p in parameters)
    inside = [
        t.reshape(t.shape[0], *[1] * (rank - t.dim()), *t.shape[1:]) if is_rows else t
        for t, is_rows in zip(inside, rows, strict=True)
    ]
    levels = modes.current.levels
    modes.current.levels = tuple([one for one in levels if one is not level])
    try:
        return wrap(boxes.Batched(level, by_values(sample, *inside)))
    finally:
        modes.current.levels = levels


def for_each_example(parameter: Tensor) -> Tensor:
    """Return a parameter of a draw broadcast over each ``vmap`` whose examples are to have
    different numbers; unchanged where one maps it already."""
    levels = boxes.drawing_levels()
    if not levels or type(parameter._value_now()) in boxes.BOXES:
        return parameter
    array = parameter._value_now()
    sizes = tuple(level.size for level in levels)
    made = wrap(jnp.broadcast_to(array, (*sizes, *array.shape)))
    for level in levels:
        made = wrap(boxes.Batched(level, made))
    return made


def _draw(source: Generator, fill: Fill) -> Any:
    capture = modes.current.capture
    if source.engine.fills is not None:
        return _draw_of_gpu(source, fill, capture)

    def numbers() -> np.ndarray:
        with source.engine.lock:
            return fill(source.engine)

    if capture is None:
        if _is_staged():
            return _drawn_at_each_run(numbers, fill)
        # Uncommitted where the CPU is not JAX's default: an op takes them to its operands.
        return host_value(numbers()) if host().is_default else jax.device_put(numbers())
    source.to_be_undone()
    return capture.per_call_value(numbers)


def _draw_of_gpu(source: Generator, fill: Fill, capture: Any) -> Any:
    """Return what a fill computes from a GPU's stream: at once, or in the program that is traced,
    which takes its place in the stream anew at each run."""
    engine = source.engine
    if capture is not None:
        source.to_be_undone()
        return fill(_InProgram(engine, capture.per_call_value))
    if _is_staged():
        return fill(_InProgram(engine, _called_back))
    if modes.current.queue is not None:
        modes.current.queue.before_draw()
    made = fill(engine)
    if isinstance(made, np.ndarray):
        return host_value(made) if host().is_default else jax.device_put(made)
    return made


def _called_back(getter: Callable[[], Any]) -> Any:
    _refuse_within_jax_function()
    return io_callback(getter, jax.ShapeDtypeStruct((4,), np.uint32))


class _InProgram:
    """A GPU's stream within a program: a key that is taken from it is an operand, which
    ``provide(getter)`` makes of a function that is called at each run."""

    __slots__ = ("_engine", "_provide", "lock")

    fills = FILLS

    def __init__(self, engine: Any, provide: Callable[..., Any]) -> None:
        self._engine, self._provide, self.lock = engine, provide, engine.lock

    def take(self, increment: int) -> Any:
        """Return the key of the next numbers, as ``PhiloxEngine.take``."""
        return self._provide(lambda: self._engine.take(increment))


def _is_staged() -> bool:
    """Return whether JAX traces a program of the user's (``jax.jit``), in which a number drawn now
    would be a constant."""
    return not trace_state_clean() and isinstance(jnp.zeros(()), core.Tracer)


def _drawn_at_each_run(numbers: Callable[[], np.ndarray], fill: Fill) -> Any:
    """Return the numbers as a callback to the host: the generator advances at each run of the
    program.

    RuntimeError in a function given to ``from_jax_function``.
    """
    _refuse_within_jax_function()
    like = fill(Engine())  # by an engine of nobody's, for shape and dtype
    return io_callback(numbers, jax.ShapeDtypeStruct(like.shape, like.dtype))


def _refuse_within_jax_function() -> None:
    """Refuse, with RuntimeError, a draw in a function given to ``from_jax_function``: its backward
    pass runs the function again, and would draw others."""
    if modes.current.within_jax_function:
        raise RuntimeError(
            "random numbers of torchlike within a function given to from_jax_function: its "
            "backward pass would draw others. Draw them outside and pass them as an argument, or "
            "use jax.random with a key"
        )


def in_memory_order(
    size: tuple[int, ...], stride: tuple[int, ...], fill: Callable[[tuple[int, ...]], Fill]
) -> Sized:
    """Return a fill whose elements are drawn in memory order: a transposed tensor is filled along
    its memory."""
    if views.is_contiguous(size, stride):
        return Sized(fill, size)
    order = views.dense_order(size, stride)

    def reordered(whole: tuple[int, ...]) -> Fill:
        lead = len(whole) - len(size)
        inner = fill((*whole[:lead], *(size[d] for d in order)))
        back = (*range(lead), *(lead + np.argsort(order)))
        return lambda engine: inner(engine).transpose(back)

    return Sized(reordered, size)


def order_of_examples(t: Tensor) -> tuple[int, ...] | None:
    """Return the strides of all examples of a mapped tensor; None where they lie in a row."""
    cell = t._value_now()
    mapped = type(cell) is boxes.Batched and cell.batched and cell.value._view is None
    return cell.value._storage.strides if mapped else None


def in_a_row(t: Tensor) -> Tensor:
    """Place all examples of a new tensor in a row, and return it."""
    if order_of_examples(t) is not None:
        t._value_now().value._storage.strides = None
    return t


def along_memory(
    t: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    fill: Callable[[tuple[int, ...]], Fill],
) -> Sized:
    """Return the fill of ``in_memory_order``; where a ``vmap`` maps ``t``, in the order of the
    memory of all examples, which is another one where the mapped dimension was not the first."""
    own = in_memory_order(size, stride, fill)
    whole = order_of_examples(t)
    if whole is None:
        return own

    def of(total: tuple[int, ...]) -> Fill:
        if len(total) != len(whole):
            return own.of(total)
        return in_memory_order(total, whole, fill)

    return Sized(of, size)


def _overwriting(name: str, grad_name: str) -> Callable[..., Any]:
    """Return the operator that an in-place fill records for a tensor that requires grad: its values
    do not depend on the tensor."""

    @op(
        f"{name}_fill",
        namespaces=(),
        method=False,
        inplace=True,
        needs="nothing",
        grad_name=grad_name,
    )
    def overwritten(input: Input, values: Input):
        """Return the values that were drawn; the gradient of ``input`` is zero."""
        return values

    return overwritten.spec.in_place


#: By the name of the node, which for overloads is not the function's.
_RECORDED = {
    node: _overwriting(node.lower(), f"{node.rstrip('012')}Backward{node[-1]}")
    for node in (
        "Normal0",
        "Uniform0",
        "Exponential0",
        "Geometric0",
        "Cauchy0",
        "LogNormal0",
        "Bernoulli1",
        "Bernoulli2",
        "Random0",
        "Random1",
        "Random2",
    )
}


def replace(t: Tensor, values: Any, node: str) -> Tensor:
    """Write ``values`` into ``t`` in place of what it held, and return it. It stays in the graph
    where it was, with gradient zero before."""
    values = array_to_device_of(values, t)
    if t.requires_grad and modes.current.grad_enabled:
        return _RECORDED[node](t, wrap(values))
    assign(t, wrap(values))
    return t


def refill(t: Tensor, generator: Any, fill: Callable[[tuple[int, ...]], Fill], node: str) -> Tensor:
    """Fill in place: the old value is gone."""
    check_inference(t)
    check_in_place(t)
    views.check_writable(t._geometry)
    if modes.current.levels:
        _check_mapped(t)
    if mixed_operands.own_draws.function(t, lambda own: refill(own, generator, fill, node)):
        return t
    if t.numel() and not t.is_meta:
        size, stride, _ = t._geometry
        replace(t, draw(generator, along_memory(t, size, stride, fill), t), node)
    return t


def _levels_of(t: Tensor) -> list[Any]:
    """Return the vmap levels that have a value of the tensor for each example."""
    found: list[Any] = []
    cell = t._value_now()
    while type(cell) in boxes.BOXES:
        if getattr(cell, "batched", False):
            found.append(cell.level)
        cell = cell.value._value_now()
    return found


def _check_mapped(t: Tensor) -> None:
    """Refuse, with RuntimeError, a tensor that all examples share where each is to have numbers of
    its own."""
    mapped = _levels_of(t)
    if any(level not in mapped for level in boxes.drawing_levels()):
        raise RuntimeError(errors.VMAP_UNBATCHED)


def check_parameters(*parameters: Any) -> None:
    """Refuse, with RuntimeError, parameters of each example where the examples are to have the same
    numbers."""
    for p in parameters if modes.current.levels else ():
        if isinstance(p, Tensor) and any(x.randomness == "same" for x in _levels_of(p)):
            raise RuntimeError(errors.VMAP_SAME_OF_EACH)


def make(
    fill: Fill,
    generator: Any,
    size: tuple[int, ...],
    dtype: np.dtype,
    out: Any,
    device: Any,
    requires_grad: Any,
    layout: Any = None,
    each: Any = True,
) -> Tensor:
    """Draw a tensor of random numbers and return it, or ``out`` with them; on the meta device none
    are drawn."""
    there = devices.resolve(device) if out is None else out.device
    if there.type == "meta":
        array: Any = MetaArray(size, dtype)
    else:
        with allocating(size, dtype):
            array = draw(generator, fill, there)
    return finish_into(out, array, device, requires_grad, layout, each=each)


def make_like(
    model: Tensor,
    fill_of: Callable[[tuple[int, ...], bool], Fill],
    generator: Any,
    dtype: np.dtype,
    device: Any,
    requires_grad: Any,
    memory_format: Any,
) -> Tensor:
    """Draw random numbers in the memory order of a model, by ``fill_of(size, contiguous)``."""
    plain = not modes.current.levels and model._view is None
    if plain and memory_format is None and model._storage.strides is None:
        size = model._storage.shape  # row-major, as most are: nothing to work out
        fill = Sized(lambda s: fill_of(s, True), size)
        made = make(fill, generator, size, dtype, None, device or model.device, requires_grad)
        return mixed_operands.alike.function(made, model)
    size = model._geometry.size
    stride = strides_like(model._geometry, memory_format)
    contiguous = views.is_contiguous(size, stride) and order_of_examples(model) is None
    fill = along_memory(model, size, stride, lambda s: fill_of(s, contiguous))
    made = make(fill, generator, size, dtype, None, device or model.device, requires_grad)
    if stride != views.contiguous_strides(size):
        made._storage.strides = stride
    return mixed_operands.alike.function(made, model)


@op("drawn", namespaces=(), method=False, needs="nothing", grad_name="DrawnBackward0")
def _drawn_op(values: Input, parameters: Inputs):
    """Return the values; their gradient with respect to the parameters they were drawn with is
    zero."""
    return values


def drawn(values: Tensor, *parameters: Tensor) -> Tensor:
    """Return the values that were drawn; they require grad where their parameters do, as in
    PyTorch, with gradients of zero."""
    wanted = modes.current.grad_enabled and any(p.requires_grad for p in parameters)
    return _drawn_op(values, list(parameters)) if wanted else values
