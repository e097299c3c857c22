"""In-place: compute purely, put the result into the cell, raise the version, rebase the history.

Where nothing else refers to the old array it is donated, so the write happens in its memory. With
gradients the op is recorded like any other; what changes is whose history it becomes:

- on a tensor that owns its storage, the new node is simply the tensor's history from now on;
- on a view, the new value is written back into the base by a second recorded op (PyTorch's
  CopySlices), and every view of that base finds its history again through the base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import boxes, casts, devices, dtypes, errors, modes, sparse_array, tape, views
from torchlike._core.tape import check_in_place
from torchlike._core.tensor import Tensor
from torchlike._dispatch import call
from torchlike._dispatch.executable import Executable
from torchlike._dispatch.record import OpNode, execute, to_device
from torchlike._dispatch.spec import OpSpec
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.inlining import AT_ONCE


def twin_of(spec: OpSpec) -> Callable[..., Any]:
    """The in-place twin ``name_`` of an op: writes into its first operand and returns it."""
    schema = spec.schema
    operand_positions, static_positions = schema.operand_positions, schema.static_positions

    def twin(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != schema.arity:
            args = schema.bind(args, kwargs)
        target = args[0]
        if not isinstance(target, Tensor):
            raise TypeError(
                f"{spec.name}_(): argument 'input' (position 1) must be Tensor, not "
                f"{type(target).__name__}"
            )
        statics = schema.canonical_statics(tuple([args[i] for i in static_positions]))
        return update(spec, target, [args[i] for i in operand_positions], statics)

    return call.dress(twin, spec, "_")


_ARRAYS = (jax.Array, np.ndarray)
#: Ops that write one number everywhere: overlapping memory does them no harm.
_IDEMPOTENT = frozenset(("fill", "zero"))
#: Ops that write in another order than they read.
_REORDERING = frozenset(("index_put",))


def _check_shared(spec: OpSpec, target: Tensor, other: Tensor) -> None:
    """RuntimeError where an op cannot read ``other`` while it writes the memory they share."""
    whole = spec.name in _REORDERING
    if other is target:
        if whole:
            raise RuntimeError(errors.PARTIAL_OVERLAP)
    elif spec.name not in _IDEMPOTENT:
        widths = target.itemsize, other.itemsize
        views.check_partial_overlap(target._geometry, other._geometry, whole=whole, widths=widths)


def update_with_sequences(
    spec: OpSpec, target: Tensor, operands: Sequence[Any], statics: tuple[Any, ...]
) -> Any:
    """``update`` for an op with list operands."""
    flat, lengths = call.flatten_sequences(spec, operands)
    return update(spec, target, flat, statics, lengths)


def update(
    spec: OpSpec, target: Tensor, operands: Sequence[Any], statics: tuple[Any, ...],
    lengths: tuple[int, ...] = (),
) -> Any:  # fmt: skip
    """Run the in-place form of an op on ``target`` (its first operand)."""
    view = target._view
    if target._inference and not modes.current.inference:
        raise RuntimeError(errors.INFERENCE_IN_PLACE)
    if (view is not None or target._storage.strides is not None) and not (
        spec.name in _IDEMPOTENT and not any(isinstance(o, Tensor) for o in operands[1:])
    ):
        views.check_writable(target._geometry)
    mask = 0
    for i, o in enumerate(operands):
        if isinstance(o, Tensor):
            if o._storage is target._storage and i:
                _check_shared(spec, target, o)
            if o.requires_grad:
                mask |= 1 << i
    if mask:
        check_in_place(target, mask)
        if not (modes.current.grad_enabled and spec.differentiable):
            mask = 0
    exe = in_place_executable(spec, mask, statics, lengths, len(operands))
    if not mask and view is None and modes.current.capture is None:
        _update_cell(spec, exe, target, operands, statics, lengths)
        return target
    arrays, _, _, on_host = call.gather_operands(spec, operands)
    if spec.check is not None and modes.current.capture is None:
        call.check_values(spec, arrays, statics, lengths)
    try:
        if sparse_array.involved(arrays):
            result = _on_sparse(spec, target, operands, statics)
        else:
            result = execute(exe, arrays, operands, on_host)
    except Exception as error:
        raise call.explain(error, f"{spec.name}_", arrays) from None
    del arrays
    assign(target, result)
    return target


def _update_cell(
    spec: OpSpec, exe: Executable, target: Tensor, operands: Sequence[Any], statics: Any,
    lengths: tuple[int, ...],
) -> None:  # fmt: skip
    """The quick way: no history, no view. Donates the old array when this cell alone holds it."""
    storage = target._storage
    sole = storage.is_sole_owner()  # before anything below takes another reference
    arrays, _, _, on_host = call.gather_operands(spec, operands)
    if spec.check is not None:
        call.check_values(spec, arrays, statics, lengths)
    donate = sole and not any(a is arrays[0] for a in arrays[1:])
    try:
        new = exe.by_numpy(*arrays) if on_host else DECLINED
        if new is DECLINED:
            if on_host:
                to_device(arrays, operands)
            new = (exe.donating if donate else exe.forward)(*arrays)
    except Exception as error:
        if not boxes.involved(arrays):
            raise call.explain(error, f"{spec.name}_", arrays) from None
        if sparse_array.involved(arrays):
            new = _on_sparse(spec, target, operands, statics)._read()
        else:
            new = call.run_without_arrays(exe, arrays, operands, f"{spec.name}_")._read()
        if type(new) in boxes.BOXES:
            boxes.check_write(storage, new)
    storage.write(new)


def _on_sparse(spec: OpSpec, target: Tensor, operands: Sequence[Any], statics: Any) -> Tensor:
    """What is to be written where an operand is sparse. RuntimeError where the target would have to
    become another kind of tensor."""
    result = call.run_on_sparse(spec, operands, statics)
    if result.shape != target.shape or result.is_sparse is not target.is_sparse:
        raise RuntimeError(
            f"{spec.name}_() of a sparse and a dense tensor gives another kind of tensor than it "
            f"would be written to: use {spec.name}()"
        )
    if result.dtype is target.dtype:
        return result
    if not dtypes.can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"Can't convert result type {dtypes.scalar_type(result.dtype)} to output "
            f"{dtypes.scalar_type(target.dtype)} in {spec.name} operation"
        )
    return result.to(target.dtype)


def in_place_executable(
    spec: OpSpec, mask: int, statics: tuple[Any, ...], lengths: tuple[int, ...], n_operands: int
) -> Executable:
    """The op's executable with its result cast to the target's dtype, its shape checked."""
    key = ("in place", mask, statics, lengths)
    exe = spec.cache.get(key)
    if exe is None:
        out_of_place = spec.executable(mask, statics, lengths, n_operands)

        def pure(target: Any, *others: Any) -> Any:
            out = out_of_place.pure(target, *others)
            if out.shape != target.shape:
                raise RuntimeError(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape "
                    f"{list(out.shape)}"
                )
            if target.dtype.kind == "c" and out.dtype.kind == "f":  # a modulus
                raise RuntimeError(f"In-place {spec.name} is not supported for complex tensors.")
            return _cast_result(out, target.dtype)

        exe = Executable(
            spec.grad_name, pure, mask, n_operands,
            kept=out_of_place.kept, rule=out_of_place.rule, residuals=spec.residuals,
            free=spec.schema.scalar_operands, differentiable=spec.differentiable,
            library=out_of_place.library,
        )  # fmt: skip
        exe.facts = spec, statics, lengths
        spec.cache[key] = exe
    return exe


def _cast_result(out: Any, dtype: Any) -> Any:
    if out.dtype == dtype:
        return out
    from_, to = dtypes.from_numpy_dtype(out.dtype), dtypes.from_numpy_dtype(dtype)
    if not dtypes.can_cast(from_, to):
        raise RuntimeError(
            f"result type {dtypes.scalar_type(from_)} can't be cast to the desired output type "
            f"{dtypes.scalar_type(to)}"
        )
    return casts.convert(out, dtype)


def assign(target: Tensor, value: Tensor) -> None:
    """Make ``value`` (of the target's shape and dtype) the target's value and its history."""
    base = target._base
    if not value._requires_grad and not (
        modes.current.grad_enabled and base is not None and base._requires_grad
    ):
        if modes.current.grad_enabled and target._node is not None:
            # Overwritten by something without gradient: nothing flows to the past any more.
            _set_history(target, None)
        target._write(value._value_now())
        return
    if base is None:
        target._write(value._value_now())
        _set_history(target, value)
        return
    assert target._view is not None
    relative, dynamic = relative_steps(base, target)
    mask = (1 if base.requires_grad else 0) | (2 if value.requires_grad else 0)
    exe = _write_back_executable(relative, mask, len(dynamic))
    new_base = execute(exe, [base._read(), value._read(), *dynamic], [base, value, *dynamic])
    base._write(new_base._value_now())
    _set_history(base, new_base)
    tape.rejoin(target)


def _set_history(t: Tensor, source: Tensor | None) -> None:
    capture = modes.current.capture
    if capture is not None:
        capture.history_write(t)
    old, old_nr = t._node, t._output_nr
    t._history += 1
    if source is None or source._node is None:
        t._node, t._output_nr, t._requires_grad = None, 0, False
        return
    t._node, t._output_nr, t._requires_grad = source._node, source._output_nr, True
    if t._hooks is not None:
        tape.forget_hooks(t)
    if old is not None:
        tape.move_retained(old, old_nr, t._node, t._output_nr)


def relative_steps(base: Tensor, view: Tensor) -> tuple[views.Steps, tuple[int, ...]]:
    """The steps that lead from the base tensor to the view.

    The base may itself be a view of its storage (``detach()[0]``), and its geometry may have been
    changed in place since (``base.t_()``): what they have in common is skipped, the rest of the
    base's steps is undone first.
    """
    if base._storage is not view._storage:
        raise NotImplementedError(
            "the .data of this view or of its base was replaced, so that they no longer share "
            "memory: make the view again before writing to either"
        )
    of_view = view._view or _WHOLE
    if base._view is None:
        return of_view.steps, of_view.dynamic
    chain, own = of_view.links(), base._view.links()
    common = 0
    while common < min(len(chain), len(own)) and _same_link(chain[common], own[common]):
        common += 1
    undone: views.Steps = ()
    if common < len(own):
        start = base._whole_geometry
        for s, d in own[:common]:
            start = s.geometry(start, *d)
        undone = views.undo(own[common:], start)
    rest = chain[common:]
    return undone + tuple(s for s, _ in rest), sum((d for _, d in rest), ())


def _same_link(a: tuple[views.Step, Any], b: tuple[views.Step, Any]) -> Any:
    """Whether two links of chains are one. Traced indices are compared by identity."""
    return a[0] is b[0] and all(
        i is j or (type(i) is int and i == j) for i, j in zip(a[1], b[1], strict=True)
    )


_WHOLE = views.View((), (), views.Geometry((), (), 0))
_write_backs: dict[Any, Executable] = {}
_reads: dict[Any, Executable] = {}
_readers: set[Executable] = set()


def _write_back_executable(steps: views.Steps, mask: int, n_dynamic: int) -> Executable:
    key = (steps, mask)
    exe = _write_backs.get(key)
    if exe is None:

        def pure(base: Any, value: Any, *dynamic: Any) -> Any:
            return views.write_chain(steps, base, value, *dynamic)

        dynamic = tuple(range(2, 2 + n_dynamic))
        exe = Executable(
            "torch::autograd::CopySlices", pure, mask, 2 + n_dynamic, kept=dynamic, free=dynamic,
            library=True,
        )  # fmt: skip
        _write_backs[key] = exe
    return exe


def read_executable(steps: views.Steps, n_dynamic: int, name: str) -> Executable:
    """The executable of reading a view: a linear op that keeps nothing but its indices."""
    key = (steps, name)
    exe = _reads.get(key)
    if exe is None:

        def pure(base: Any, *dynamic: Any) -> Any:
            return views.read_chain(steps, base, *dynamic)

        dynamic = tuple(range(1, 1 + n_dynamic))
        exe = Executable(name, pure, 1, 1 + n_dynamic, kept=dynamic, free=dynamic, library=True)
        _reads[key] = exe
        _readers.add(exe)
    return exe


def _parts_executable(lengths: tuple[int, ...], dim: int, whole: Any, name: str) -> Executable:
    """The executable of reading all of ``lengths`` consecutive parts of a dimension; without the
    dimension unless ``whole``."""
    key = (lengths, dim, whole, name)
    exe = _reads.get(key)
    if exe is None:

        def pure(base: Any) -> Any:
            # Its derivative is one concatenation, where that of slices is a sum of padded parts.
            parts = jax.lax.split(base, lengths, dim)
            return tuple(parts if whole else [jnp.squeeze(x, dim) for x in parts])

        exe = Executable(name, pure, 1, 1, kept=(), free=(), library=True)
        _reads[key] = exe
        _readers.add(exe)
    return exe


def reads_a_view(node: Any) -> bool:
    """Whether a node of the tape is a view of its parent (or several), and nothing else."""
    return isinstance(node, OpNode) and node.exe in _readers


def copy_(
    target: Tensor, source: Any, non_blocking: Any = False, *, expanded: Any = False
) -> Tensor:
    """Write ``source`` (a tensor or number, broadcast and cast) into ``target``; returns it.

    RuntimeError when the shapes do not broadcast, or when the two partly overlap in memory (but
    not when an ``expanded`` source does: PyTorch does not look at those). Without gradients a write
    into a view is one compiled call in the storage's own memory.
    """
    if not isinstance(target, Tensor):
        raise TypeError(f"copy_(): expected a Tensor to write to, not {type(target).__name__}")
    if target._inference and not modes.current.inference:
        raise RuntimeError(errors.INFERENCE_IN_PLACE)
    geometry = target._geometry
    recorded = target.requires_grad
    name = "FillBackward0"
    # What is copied onto itself is left as it is, however its memory overlaps.
    onto_itself = source is target or (
        isinstance(source, Tensor) and source._storage is target._storage
        and source._geometry == geometry and source.dtype is target.dtype
    )  # fmt: skip
    if not onto_itself:
        views.check_writable(geometry)
    if type(source) in casts.NUMBERS:
        casts.check_fill(source, target.dtype.numpy, 1)
    if isinstance(source, Tensor):
        if source._storage is target._storage and not onto_itself and not (
            expanded and source._geometry.size != geometry.size
        ):  # fmt: skip
            widths = target.itemsize, source.itemsize
            views.check_partial_overlap(geometry, source._geometry, widths=widths)
        recorded = recorded or source.requires_grad
        name = "torch::autograd::CopyBackwards"
        shape = source._geometry.size
        if shape != geometry.size:
            _check_expandable(shape, geometry.size)
    if modes.current.levels or (recorded and modes.current.grad_enabled):
        if recorded and modes.current.grad_enabled:
            check_in_place(target, True)
        _copy_recorded(target, source, geometry.size, name)
        return target
    if target.is_meta:
        target._storage.version += 1
        return target
    if isinstance(source, Tensor):
        if source.is_meta:
            raise NotImplementedError(errors.NO_DATA)
        value = source._value_now()
        if source.device != target.device:
            value = jax.device_put(value, devices.to_jax(target.device))
    else:
        value = source
    if target._view is None:
        dtype = target.dtype.numpy
        same = isinstance(value, _ARRAYS) and value.shape == geometry.size and value.dtype == dtype
        # Two cells may hold one immutable array: nothing needs copying.
        target._storage.write(value if same else _fitted(value, target))
    elif type(target._storage.cell) is np.ndarray:
        target._write(_fitted(value, target))
    else:
        target._write(value)  # the writer broadcasts and casts
    return target


def _copy_recorded(target: Tensor, source: Any, size: tuple[int, ...], name: str) -> None:
    """The copy as an op of both: what was overwritten gets a gradient of zeros."""
    dtype = target.dtype.numpy
    number = not isinstance(source, Tensor)
    mask = 0
    if modes.current.grad_enabled:
        mask = 1 if target.requires_grad else 0
        mask |= 2 if not number and source.requires_grad else 0
    key = (size, dtype, mask, name)
    exe = _copies.get(key)
    if exe is None:
        fit = _fit_pure(size, dtype)
        exe = _copies[key] = Executable(
            name, lambda old, value: fit(value), mask, 2, kept=(1,) if number else (),
            free=(0, 1), library=True,
        )  # fmt: skip
    value = source if number else source._read()
    assign(target, execute(exe, [target._read(), value], [target, source]))


def _check_expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    lead = len(to) - len(shape)
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(shape, to[lead:], strict=True))
    if not fits and not (lead < 0 and all(n == 1 for n in shape[:-lead])):
        for d, (a, b) in enumerate(zip(reversed(shape), reversed(to), strict=False)):
            if a not in (1, b):
                raise RuntimeError(
                    f"The expanded size of the tensor ({b}) must match the existing size ({a}) at "
                    f"non-singleton dimension {len(to) - 1 - d}.  Target sizes: {list(to)}.  "
                    f"Tensor sizes: {list(shape)}"
                )
        raise RuntimeError(
            f"expand({list(shape)}, size={list(to)}): the number of sizes provided ({len(to)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )


_fits: dict[Any, Any] = {}


def _fitted(value: Any, target: Tensor) -> Any:
    """``value`` broadcast and cast to the size and dtype of ``target``."""
    fit = _fit(tuple(target.shape), target.dtype.numpy)
    on_host = np.ndarray in (type(value), type(target._storage.cell))
    return first_calls.call(fit, value) if on_host else fit(value)


def _fit(size: tuple[int, ...], dtype: Any) -> Callable[..., Any]:
    """Compiled broadcast and cast to a size and dtype."""
    key = (size, dtype)
    if key not in _fits:
        _fits[key] = first_calls.jit(_fit_pure(size, dtype), name="expand", inline=AT_ONCE)
    return _fits[key]


def _fit_pure(size: tuple[int, ...], dtype: Any) -> Callable[..., Any]:
    def fit(value: Any) -> Any:
        value = jnp.asarray(value)
        if value.ndim > len(size):
            value = value.reshape(value.shape[value.ndim - len(size) :])
        return jnp.broadcast_to(casts.convert(value, dtype), size)

    return fit


_copies: dict[Any, Executable] = {}


def _record_view(base: Tensor, view: Tensor) -> Any:
    """The node of a stale view: one read of the chain from its base (None without history)."""
    edge = tape.gradient_edge(base)
    if edge is None:
        return None
    steps, dynamic = relative_steps(base, view)
    return node_of_view(edge, base, steps, dynamic, "AsStridedBackward0")


def node_of_view(
    edge: tape.Edge | None, parent: Tensor, steps: views.Steps, dynamic: tuple[int, ...], name: str
) -> Any:
    """A node for reading ``steps`` on ``parent``; nothing is computed until backward."""
    exe = read_executable(steps, len(dynamic), name)
    geometry = parent._geometry
    return OpNode(exe, [edge], dynamic, ((geometry.size, parent.dtype.numpy),), None, 1)


def node_of_parts(
    edge: tape.Edge | None, parent: Tensor, lengths: tuple[int, ...], dim: int, whole: Any,
    name: str,
) -> OpNode:  # fmt: skip
    """One node for reading consecutive parts of ``parent``, an output for each."""
    exe = _parts_executable(lengths, dim, whole, name)
    aval = parent._geometry.size, parent.dtype.numpy
    return OpNode(exe, [edge], (), (aval,), None, len(lengths))


tape.record_view = _record_view
