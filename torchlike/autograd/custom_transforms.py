"""A custom Function inside ``vmap`` and ``jvp``: by its own ``vmap`` and ``jvp`` staticmethods, or
mapped with its backward where it says ``generate_vmap_rule = True``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._core.dispatch.record import snapshot
from torchlike._extensions import boxes
from torchlike._extensions.boxed import JvpLevel, VmapLevel
from torchlike._extensions.boxes import Batched, Box, Dual
from torchlike._runtime import trees
from torchlike._runtime.trees import flatten, unflatten
from torchlike.tensor import Tensor, wrap

_INCOMPATIBLE = (
    "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
    "Expected out_dims={dims} to be compatible with the structure of `output`, which is {made}."
)
#: Where a Function keeps its mapped forms: {(axes, size, randomness): Function}.
_GENERATED = "_mapped_forms"
_SEE = "For more details, see PyTorch's notes on extending autograd with torch.func."


class VmapInfo(NamedTuple):
    """What a ``vmap`` staticmethod is told: the number of examples, and how random numbers go."""

    batch_size: int
    randomness: str


def level_of(args: Sequence[Any]) -> boxes.Level | None:
    """Return the innermost level whose boxes are among the arguments of a Function."""
    if not modes.current.levels:
        return None
    return boxes.top([a._value_now() for a in trees.leaves(list(args), Tensor)])


def run_at(level: boxes.Level, base: Any, function: Any, args: Sequence[Any], ctx: Any) -> Any:
    """Run ``function.apply(*args)`` one level down and return its result as tensors of the level.

    ``base`` is autograd.Function, ``ctx`` a fresh one. RuntimeError in PyTorch's words where the
    Function lacks what the transform needs.
    """
    forward_ad = isinstance(level, JvpLevel) and level.outlived
    if function.setup_context is None and not forward_ad:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            f"jacrev, ...), it must override the setup_context staticmethod. {_SEE}"
        )
    leaves, structure = flatten(list(args))
    cells: list[Any] = [a._value_now() if isinstance(a, Tensor) else None for a in leaves]
    own = [isinstance(c, Box) and c.level is level for c in cells]
    # Tensors of their own, for forward may write to them, and boxes may share what they hold.
    values = [
        snapshot(c.value) if mine else a for c, mine, a in zip(cells, own, leaves, strict=True)
    ]
    inside = unflatten(structure, values)
    if isinstance(level, JvpLevel):
        # What is within a list has no tangent, as it has no gradient.
        duals = [
            c
            if isinstance(a, Tensor) and isinstance(c := a._read(), Dual) and c.level is level
            else None
            for a in args
        ]
        output, found = _pushed(level, function, duals, inside, ctx)
    else:
        assert isinstance(level, VmapLevel)
        axes = [0 if mine and c.batched else None for c, mine in zip(cells, own, strict=True)]
        with _below(level):
            if 0 not in axes:
                output, batched = function.apply(*inside), None
            else:
                output, batched = _mapped(level, base, function, unflatten(structure, axes), inside)
        outputs = output if isinstance(output, tuple) else (output,)
        dims = batched if isinstance(batched, tuple) else (batched,) * len(outputs)
        found = [_boxed(level, o, d) for o, d in zip(outputs, dims, strict=True)]
    outputs = output if isinstance(output, tuple) else (output,)
    for i, o in enumerate(outputs):
        for a, mine, value in zip(leaves, own, values, strict=True):
            if mine and o is value:  # an input that forward wrote to, and marked as dirty
                a._write(found[i]._read())
                found[i] = a
    if ctx._below is not None:
        ctx._below = (
            ctx._below,
            [*zip(values, leaves, strict=True), *zip(outputs, found, strict=True)],
        )
    return tuple(found) if isinstance(output, tuple) else found[0]


@contextlib.contextmanager
def _below(level: boxes.Level) -> Iterator[None]:
    """Leave a level, and those within it, for the length of a `with` block."""
    previous = modes.current.levels
    modes.current.levels = previous[: previous.index(level)] if level in previous else previous
    try:
        yield
    finally:
        modes.current.levels = previous


def _boxed(level: VmapLevel, output: Any, dim: int | None) -> Any:
    if not isinstance(output, Tensor):
        return output
    if dim is None:
        return wrap(level.lift(output))
    return wrap(Batched(level, snapshot(output.movedim(dim, 0))))


# -- vmap ------------------------------------------------------------------------------------------


def _mapped(
    level: VmapLevel, base: Any, function: Any, axes: list[Any], inside: list[Any]
) -> tuple[Any, Any]:
    """Return the outputs for all examples, and the position of their dimension: an int, None, or
    one for each."""
    name = function.__name__
    has_rule = function.vmap is not None
    if function.generate_vmap_rule:
        if has_rule:
            raise RuntimeError(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
                f"overridden vmap staticmethod to avoid ambiguity. {_SEE}"
            )
        generated = _generated(base, function, tuple(axes), level.size, level.randomness)
        return generated.apply(*inside), 0
    if not has_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override "
            f"and implement the vmap staticmethod or set generate_vmap_rule=True. {_SEE}"
        )
    result = function.vmap(VmapInfo(level.size, level.randomness), tuple(axes), *inside)
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {type(result)} instead"
        )
    made, dims = result
    several = isinstance(dims, (tuple, list))
    if several and not (isinstance(made, tuple) and len(dims) == len(made)):
        shown = f"a tuple of {len(made)}" if isinstance(made, tuple) else type(made).__name__
        raise RuntimeError(_INCOMPATIBLE.format(dims=dims, made=shown))
    return made, tuple(dims) if several else dims


def _generated(
    base: Any, function: Any, axes: tuple[int | None, ...], size: int, randomness: str
) -> type:
    """Return a Function of all examples, made once, whose forward and backward are those of one,
    mapped.

    It refers to ``function``, and is kept there: both live as long as the user's class.
    """
    made = function.__dict__.get(_GENERATED)
    if made is None:
        made = {}
        setattr(function, _GENERATED, made)
    key = (axes, size, randomness)
    if key not in made:
        made[key] = _generate(base, function, axes, size, randomness)
    return made[key]


def _entered(level: VmapLevel, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Bring outer values into a level, mapped over their first dimension or shared."""
    return [
        wrap(Batched(level, snapshot(v)))
        if d == 0 and isinstance(v, Tensor)
        else wrap(level.lift(v))
        if isinstance(v, Tensor)
        else v
        for v, d in zip(values, dims, strict=True)
    ]


def _left(level: VmapLevel, t: Any) -> Any:
    """Bring a value of a level out of it, with a row for each example."""
    if not isinstance(t, Tensor):
        return t
    cell = t._read()
    if isinstance(cell, Batched) and cell.level is level:
        t = cell.value
        if cell.batched:
            return t
    return t.expand(level.size, *t.shape)


def _generate(
    base: Any, function: Any, axes: tuple[int | None, ...], size: int, randomness: str
) -> type:
    """Make the Function that runs ``function`` on the examples of a vmap level, forward and
    backward."""

    backward_of_one = function.vjp if function.backward is base.backward else function.backward

    class VmappedFunction(base):
        generate_vmap_rule = True

        @staticmethod
        def forward(*args: Any) -> Any:
            with VmapLevel(size, randomness) as level:
                out = function.forward(*_entered(level, args, axes))
                if isinstance(out, tuple):
                    return tuple(_left(level, o) for o in out)
                return _left(level, out)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            inner = type(ctx)()
            inner.needs_input_grad = ctx.needs_input_grad
            outputs = output if isinstance(output, tuple) else (output,)
            with VmapLevel(size, randomness) as level:
                seen_in = tuple(_entered(level, inputs, axes))
                seen = tuple(_entered(level, outputs, (0,) * len(outputs)))
                function.setup_context(
                    inner, seen_in, seen if isinstance(output, tuple) else seen[0]
                )
                # The same tensors outside: those given, else what is inside the boxes.
                outside = {
                    id(a): b for a, b in zip((*seen_in, *seen), (*inputs, *outputs), strict=True)
                }
                saved = [None if t is None else outside.get(id(t)) for t in inner._to_save]
                saved = [
                    _left(level, t) if s is None and t is not None else s
                    for s, t in zip(saved, inner._to_save, strict=True)
                ]
                dims = dict(zip(map(id, seen_in), axes, strict=True))
                ctx._mapped = (
                    inner,
                    [None if t is None else dims.get(id(t), 0) for t in inner._to_save],
                )
            ctx.save_for_backward(*saved)
            ctx.set_materialize_grads(inner._materialize)
            ctx._grad_dtypes = inner._grad_dtypes
            refused = {id(t) for t in seen if id(t) in inner._non_differentiable}
            ctx.mark_non_differentiable(
                *(o for o, t in zip(outputs, seen, strict=True) if id(t) in refused)
            )

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            inner, dims = ctx._mapped
            with VmapLevel(size, randomness) as level:
                inner._to_save = tuple(_entered(level, ctx.saved_tensors, dims))
                try:
                    grads = backward_of_one(
                        inner, *_entered(level, cotangents, (0,) * len(cotangents))
                    )
                finally:
                    inner._to_save = ()
                grads = grads if isinstance(grads, tuple) else (grads,)
                found = [None if g is None else _left(level, g) for g in grads]
            # What all examples share gets the sum.
            return tuple(
                g if g is None or d == 0 else g.sum(0) for g, d in zip(found, axes, strict=True)
            )

    VmappedFunction.__name__ = VmappedFunction.__qualname__ = f"Vmapped{function.__name__}"
    return VmappedFunction


# -- jvp -------------------------------------------------------------------------------------------


_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
    "forward is modifying an input inplace, then the jvp function must modify the corresponding "
    "gradient inplace."
)


class _Direction(NamedTuple):
    """A tangent that jvp is given, and its version then."""

    tensor: Any
    version: int


def _check_tangents(
    outputs: Sequence[Any],
    tangents: Sequence[Any],
    inside: Sequence[Any],
    given: Sequence[_Direction | None],
    ctx: Any,
) -> None:
    """Raise RuntimeError in PyTorch's words where a jvp gives what is no tangent of its output."""
    for i, (output, tangent) in enumerate(zip(outputs, tangents, strict=True)):
        differentiable = (
            isinstance(output, Tensor)
            and output.dtype.category >= 2
            and id(output) not in ctx._non_differentiable
        )
        if tangent is not None and not differentiable:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {i}, but  the corresponding "
                "forward output is not a differentiable Tensor."
                "You should return None at that position instead."
            )
        if differentiable:
            _check_tangent(output, tangent, inside, given, ctx)


def _check_tangent(
    output: Tensor,
    tangent: Any,
    inside: Sequence[Any],
    given: Sequence[_Direction | None],
    ctx: Any,
) -> None:
    """Raise RuntimeError where a tangent is no tensor, has another shape, or has memory of its own
    while the output has an input's."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output 0."
        )
    if tangent is not None and tangent.shape != output.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(output.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    for value, direction in zip(inside, given, strict=True):
        if direction is None or not isinstance(value, Tensor):
            continue
        if value._storage is not output._storage:
            continue
        if any(d is value for d in ctx._dirty):
            before = direction.tensor
            if tangent is not before or before._storage.version == direction.version:
                raise RuntimeError(_NOT_IN_PLACE)
        elif tangent is not None:
            _check_view(tangent, direction.tensor)


def _check_view(tangent: Tensor, direction: Tensor) -> None:
    """Raise RuntimeError unless the tangent is a view of the direction."""
    if tangent._base is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp "
            "is not returning a view."
        )
    if tangent._base is not direction:
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the "
            "given grad input."
        )


def _pushed(
    level: JvpLevel, function: Any, duals: list[Dual | None], inside: list[Any], ctx: Any
) -> tuple[Any, list[Any]]:
    """Run forward on the values inside the duals (None for other arguments) and return its result,
    and that as duals, with the tangents that the Function's jvp gives."""
    tangents_in = [None if d is None or d.tangent is None else snapshot(d.tangent) for d in duals]
    with _below(level):
        # A forward that takes ctx runs once, and its jvp reads that very ctx.
        at_once = function.setup_context is None
        if at_once:
            output = function._applied(inside, ctx, pushes=True)
            ctx._below = ctx._to_save
        else:
            output = function.apply(*inside)
        outputs = output if isinstance(output, tuple) else (output,)
        tangents: Sequence[Any] = (None,) * len(outputs)
        if any(t is not None for t in tangents_in):
            if function.jvp is None:
                raise NotImplementedError(
                    "You must implement the jvp function for custom autograd.Function to use it "
                    "with forward mode AD."
                )
            if not at_once:
                function.setup_context(ctx, tuple(inside), output)
            kept = ctx._kept
            if ctx._to_push is not None:
                ctx._to_save, ctx._kept = ctx._to_push, None
            given = tangents_in
            if ctx._materialize:
                given = [
                    v.detach().new_zeros(v.shape)
                    if t is None and isinstance(v, Tensor) and v.dtype.category >= 2
                    else t
                    for v, t in zip(inside, given, strict=True)
                ]
            directions = [None if t is None else _Direction(t, t._storage.version) for t in given]
            result = function.jvp(ctx, *given)
            if kept is not None:  # recorded: what was saved is the node's
                ctx._to_save, ctx._to_push, ctx._kept = (), None, kept
            tangents = result if isinstance(result, tuple) else (result,)
            if len(tangents) != len(outputs):
                raise RuntimeError(
                    "Function's jvp returned an invalid number of forward gradients (expected "
                    f"{len(outputs)} but got {len(tangents)})"
                )
            _check_tangents(outputs, tangents, inside, directions, ctx)
    found = [
        wrap(Dual(level, snapshot(o), None if t is None else snapshot(t)))
        if isinstance(o, Tensor)
        else o
        for o, t in zip(outputs, tangents, strict=True)
    ]
    return output, found
