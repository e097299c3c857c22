"""In-place: compute purely, put the result into the cell, raise the version, rebase the history.

Where nothing else refers to the old array it is donated, so the write happens in its memory. With
gradients the op is recorded like any other; what changes is whose history it becomes:

- on a tensor that owns its storage, the new node is simply the tensor's history from now on;
- on a view, the new value is written back into the base by a second recorded op (PyTorch's
  CopySlices), and every view of that base finds its history again through the base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torchlike._core import casts, cells, dtypes, errors, modes, tape, views
from torchlike._core.dispatch import call
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.record import execute, to_device
from torchlike._core.dispatch.spec import OpSpec
from torchlike._core.dispatch.view_history import rejoin, relative_steps
from torchlike._core.layouts import strided
from torchlike._core.tape import check_in_place, check_inference
from torchlike._core.tensor_values import about_to_write_data
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    import jax
    import numpy as np

    from torchlike._core.cells import Argument
    from torchlike._core.dispatch.spec import Statics


def in_place_variant(spec: OpSpec) -> Callable[..., Tensor]:
    """Return the in-place variant ``name_`` of an op, which writes into its first operand and gives
    it."""
    schema = spec.schema.as_method(f"{spec.name}_")
    operand_positions, static_positions = schema.operand_positions, schema.static_positions
    by_position = schema.arity if schema.positional == schema.arity else -1

    def variant(*args: object, **kwargs: object) -> Tensor:
        if kwargs or len(args) != by_position:
            args = schema.bind(args, kwargs)
        target = args[0]
        if not isinstance(target, Tensor):
            raise TypeError(
                f"{spec.name}_(): argument 'input' (position 1) must be Tensor, not "
                f"{type(target).__name__}"
            )
        statics = schema.canonical_statics(tuple([args[i] for i in static_positions]))
        return run_update.function(spec, target, [args[i] for i in operand_positions], statics)

    def in_own_dtype(*args: object, **kwargs: object) -> Tensor:  # a sum of bools is not in int64
        if args and getattr(args[0], "dtype", None) is dtypes.bool and not kwargs.get("dtype"):
            kwargs["dtype"] = dtypes.bool
        return variant(*args, **kwargs)

    return call.dress(in_own_dtype if spec.casts_out == "dtype" else variant, spec, "_")


def _check_shared(spec: OpSpec, target: Tensor, other: Tensor) -> None:
    """Raise RuntimeError where an op cannot read ``other`` while it writes the memory they
    share."""
    if other is target:
        if spec.reorders:
            raise RuntimeError(errors.PARTIAL_OVERLAP)
    elif not spec.writes_one_number:
        widths = target.itemsize, other.itemsize
        views.check_partial_overlap(
            target._geometry, other._geometry, whole=spec.reorders, widths=widths
        )


def update_with_sequences(
    spec: OpSpec, target: Tensor, operands: Sequence[object], statics: Statics
) -> Tensor:
    """Run ``update`` for an op with list operands."""
    flat, lengths = call.flatten_sequences(spec, operands)
    return run_update.function(spec, target, flat, statics, lengths)


def update(
    spec: OpSpec,
    target: Tensor,
    operands: Sequence[object],
    statics: Statics,
    lengths: tuple[int, ...] = (),
) -> Tensor:
    """Run the in-place form of an op on ``target`` (its first operand)."""
    view = target._view
    if target._inference:
        check_inference(target)
    if (view is not None or target._storage.strides is not None) and not (
        spec.writes_one_number and not any(isinstance(o, Tensor) for o in operands[1:])
    ):
        views.check_writable(target._geometry)
    mask = 0
    for i, o in enumerate(operands):
        if isinstance(o, Tensor):
            if o._storage is target._storage and i and i not in spec.schema.elements:
                _check_shared(spec, target, o)
            if o.requires_grad:
                mask |= 1 << i
    if mask:
        check_in_place(target, mask)
        if not modes.current.grad_enabled or not (
            spec.differentiable or (spec.ends_history and target.dtype.category > 1)
        ):
            mask = 0
    exe = in_place_executable(spec, mask, statics, lengths, len(operands))
    if not mask and view is None and modes.current.capture is None:
        _update_cell(spec, exe, target, operands, statics, lengths)
        return target
    arrays, _, _, on_host = call.gather_operands(spec, operands)
    if spec.check is not None:
        call.check_values(spec, arrays, statics, lengths)
    try:
        kind = cells.kind_among(arrays)
        if kind is not None and kind.run_op is not None:
            result = _by_rule(kind, spec, target, operands, statics)
        else:
            result = execute(exe, arrays, operands, on_host)
    except Exception as error:
        raise call.explain(error, f"{spec.name}_", arrays) from None
    del arrays
    assign(target, result)
    return target


#: `update`, or what looks at each write once there is a mesh of devices.
run_update = Provided("runs in-place variants", update)


def _update_cell(
    spec: OpSpec,
    exe: Executable,
    target: Tensor,
    operands: Sequence[object],
    statics: Statics,
    lengths: tuple[int, ...],
) -> None:
    """Update a target without history and without view, the quick way: what `Tensor._write` would
    decide is known, so that the cell is written at once. Donates the old array when this cell alone
    holds it, which is asked before the operands are read."""
    storage = target._storage
    sole = storage.is_sole_owner()  # before anything below takes another reference
    if not sole and target._is_data:
        about_to_write_data(target)
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
        kind = cells.kind_among(arrays)
        if kind is None:
            raise call.explain(error, f"{spec.name}_", arrays) from None
        if kind.run_op is not None:
            new = _by_rule(kind, spec, target, operands, statics)._read()
        else:
            new = call.run_without_arrays(exe, arrays, operands, f"{spec.name}_")._read()
        if type(new) in cells.KINDS:
            new.check_write(storage)
    storage.write(new)


def _by_rule(
    kind: Any, spec: OpSpec, target: Tensor, operands: Sequence[object], statics: Statics
) -> Tensor:
    """Return the result to be written where a kind of cell has a rule for the op. RuntimeError
    where the target would have to become another kind of tensor."""
    result = kind.run_op(spec, operands, statics)
    if target.layout is strided and result.layout is not strided:
        result = result.to_dense()
    if result.shape != target.shape or result.layout is not target.layout:
        raise RuntimeError(
            f"{spec.name}_() of a sparse and a dense tensor gives another kind of tensor than it "
            f"would be written to: use {spec.name}()"
        )
    if result.dtype is target.dtype:
        return result
    if not dtypes.can_cast(result.dtype, target.dtype):
        from_, to = map(dtypes.scalar_type, (result.dtype, target.dtype))
        if sum(isinstance(t, Tensor) and t.layout is not strided for t in operands) < 2:
            raise RuntimeError(errors.UNCASTABLE.format(from_, to))
        raise RuntimeError(
            f"Can't convert result type {from_} to output {to} in {spec.name} operation"
        )
    return result.to(target.dtype)


def in_place_executable(
    spec: OpSpec, mask: int, statics: Statics, lengths: tuple[int, ...], n_operands: int
) -> Executable:
    """Return the op's executable with its result cast to the target's dtype, its shape checked."""
    key = ("in place", mask, statics, lengths)
    exe = spec.cache.get(key)
    if exe is None:
        out_of_place = spec.executable(mask, statics, lengths, n_operands)

        def pure(target: jax.Array, *others: Argument) -> jax.Array:
            out = out_of_place.pure(target, *others)
            if out.shape != target.shape:
                shapes = list(target.shape), list(out.shape)
                raise RuntimeError(errors.NO_BROADCAST.format(*shapes))
            if target.dtype.kind == "c" and out.dtype.kind == "f":  # a modulus
                raise RuntimeError(f"In-place {spec.name} is not supported for complex tensors.")
            return _cast_result(out, target.dtype)

        exe = Executable(
            spec.grad_name,
            pure,
            mask,
            n_operands,
            saved=out_of_place.saved,
            rule=out_of_place.rule,
            residuals=spec.residuals,
            free=spec.schema.scalar_operands,
            differentiable=bool(mask) or spec.differentiable,
            library=out_of_place.library,
        )
        exe.options = spec, statics, lengths
        spec.cache[key] = exe
    return exe


def _cast_result(out: jax.Array, dtype: np.dtype) -> jax.Array:
    if out.dtype == dtype:
        return out
    from_, to = dtypes.from_numpy_dtype(out.dtype), dtypes.from_numpy_dtype(dtype)
    if not dtypes.can_cast(from_, to):
        raise RuntimeError(errors.UNCASTABLE.format(*map(dtypes.scalar_type, (from_, to))))
    return casts.convert(out, dtype)


def assign(target: Tensor, value: Tensor) -> None:
    """Make ``value`` (of the target's shape and dtype) the target's value and its history.

    Alone decides whose history it becomes: of the target, or of the base that a view of it is
    written back into by an op of its own. `Tensor._write` writes.
    """
    enabled, base, owner = modes.current.grad_enabled, target._base, target
    recorded = value._requires_grad or (enabled and base is not None and base._requires_grad)
    if recorded and base is not None:
        owner, value = base, _written_back(base, target, value)
    elif not recorded and enabled and target._node is not None:
        # Overwritten by something without gradient: nothing flows to the past any more.
        _set_history(target, None)
    owner._write(value._value_now())
    if recorded:
        _set_history(owner, value)
        if owner is not target:
            rejoin(target)


def _written_back(base: Tensor, target: Tensor, value: Tensor) -> Tensor:
    """Return the value of ``base`` with ``value`` in place of ``target``, a view of it, recorded
    (PyTorch's CopySlices)."""
    relative, dynamic = relative_steps(base, target)
    mask = (1 if base.requires_grad else 0) | (2 if value.requires_grad else 0)
    exe = _write_back_executable(relative, mask, len(dynamic))
    return execute(exe, [base._read(), value._read(), *dynamic], [base, value, *dynamic])


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


_write_backs: dict[tuple[views.Steps, int], Executable] = {}


def _write_back_executable(steps: views.Steps, mask: int, n_dynamic: int) -> Executable:
    key = (steps, mask)
    exe = _write_backs.get(key)
    if exe is None:

        def pure(base: jax.Array, value: jax.Array, *dynamic: views.Index) -> jax.Array:
            return views.write_chain(steps, base, value, *dynamic)

        dynamic = tuple(range(2, 2 + n_dynamic))
        exe = Executable(
            "torch::autograd::CopySlices",
            pure,
            mask,
            2 + n_dynamic,
            saved=dynamic,
            free=dynamic,
            library=True,
        )
        _write_backs[key] = exe
    return exe
