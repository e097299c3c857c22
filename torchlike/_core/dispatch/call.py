"""The op path: from ``torchlike.mul(a, b)`` to an executable and back. Every microsecond counts.

One path serves eager execution and capture: while a capture runs, cells read as tracers and the
same executables are inlined into the graph.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from torchlike._core import cells, errors, modes, overrides
from torchlike._core.casts import NUMBERS
from torchlike._core.devices import CPU, accelerator_of
from torchlike._core.dispatch import out as outputs
from torchlike._core.dispatch.argument_names import warn_of_old_signature
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.record import (
    execute,
    execute_without_arrays,
    keep_on_host,
    to_device,
)
from torchlike._core.dispatch.schema import Schema
from torchlike._core.dispatch.spec import OpSpec, group
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import Storage, storage_of_large
from torchlike._runtime import device_memory, one_device, recycling
from torchlike._runtime.error_codes import with_code
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor, wrap

if TYPE_CHECKING:
    from torchlike._core.cells import Argument, Result
    from torchlike._core.dispatch.spec import Statics

#: A public function, of arguments and results of its own.
Function = Callable[..., Any]


_new = object.__new__
_ndarray = np.ndarray


def function_of(spec: OpSpec, schema: Schema | None = None) -> Function:
    """Return the public function of an op, also its Tensor method unless that has a schema of its
    own."""
    schema = schema or spec.schema
    arity, completion, has_sequence = schema.arity, schema.completion, schema.has_sequence
    n_operands = len(schema.operand_positions)
    by_position = arity if schema.positional == arity else -1
    operands_first = schema.operand_positions == tuple(range(n_operands))
    only_operands = operands_first and n_operands == arity

    def function(*args: object, **kwargs: object) -> object:
        out = None
        bound = args
        if kwargs:
            out = kwargs.pop("out", None)
            bound = schema.bind(args, kwargs)
        elif len(args) != by_position:
            rest = completion.get(len(args))
            bound = schema.bind(args, kwargs) if rest is None else args + rest
        if only_operands:
            operands, statics = bound, ()
        else:
            if operands_first:
                operands, statics = bound[:n_operands], bound[n_operands:]
            else:
                operands = tuple([bound[i] for i in schema.operand_positions])
                statics = tuple([bound[i] for i in schema.static_positions])
            statics = schema.canonical_statics(statics)
        try:
            if out is not None:
                return into_out(spec, operands, statics, out)
            if has_sequence:
                return run_with_sequences(spec, operands, statics)
            return run(spec, operands, statics)
        except TypeError as error:
            if not overrides.is_unasked(error) or function in overrides.not_public:
                raise  # of what is not public, whoever called it is asked
            if not overrides.is_outermost(sys._getframe(1)):
                raise
            if out is not None:
                kwargs["out"] = out
            return function(*args, **kwargs)

    return dress(function, spec, "")


def method_of(spec: OpSpec, function: Function) -> Function:
    """Return the Tensor method of an op whose public function this is: another one only for an op
    with an old signature, which warnings show without the tensor in front."""
    schema = spec.schema.as_method(spec.name)
    if schema is spec.schema:
        return function
    made = function_of(spec, schema)
    made.first_of = function  # type: ignore[attr-defined]
    return made


def with_numbers_first(function: Any, names: tuple[str, ...], of_method: bool = False) -> Function:
    """Return a function of three tensors that takes PyTorch's old signatures too, where the numbers
    ``names`` stand before or between the tensors: ``addmm(beta, input, alpha, mat1, mat2)``."""

    @functools.wraps(function)
    def reordered(*args: object, **kwargs: object) -> object:
        if len(args) > 3:
            numbers = [a for a in args if type(a) in NUMBERS]
            if len(args) - len(numbers) == 3 and len(numbers) <= len(names):
                kwargs = {**kwargs, **dict(zip(names, numbers, strict=False))}
                warn_of_old_signature(
                    function.__name__, function.spec.schema.names, args, names, of_method
                )
                args = tuple([a for a in args if type(a) not in NUMBERS])
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if not overrides.is_unasked(error) or not overrides.is_outermost(sys._getframe(1)):
                raise
            return reordered(*args, **kwargs)

    return reordered


def dress(function: Any, spec: OpSpec, suffix: str) -> Function:
    """Give a made function the op's name and documentation."""
    function.__name__ = function.__qualname__ = spec.name + suffix
    function.__doc__ = spec.fn.__doc__
    function.__module__ = "torchlike"
    function.spec = spec  # type: ignore[attr-defined]
    return function


def gather_operands(spec: OpSpec, operands: Sequence[Any]) -> tuple[list[Any], int, bool, Any]:
    """Return the arrays of the operands, the mask of those that require grad, whether the op's rule
    of memory order has a say (an operand has its own order, or the rule is for all),
    and the queue that records the call; without one, whether an array is a host value."""
    arrays: list[Argument] = []
    mask = 0
    bit = 1
    strided = spec.lays_out
    watcher, records = modes.current.watcher, modes.current.grad_enabled
    eager, on_host = (True, False) if watcher is None else (watcher.is_eager, watcher.defers)
    for a in operands:
        kind = type(a)
        if kind in TENSOR_TYPES:
            if a._view is None:
                storage = a._storage
                if eager and storage.host is None:
                    array = storage.cell
                else:
                    array = storage.value()
                if type(array) is _ndarray and not on_host:
                    on_host = True
                arrays.append(array)
                if a._requires_grad:
                    mask |= bit
                if storage.strides is not None:
                    strided = True
            else:
                array = a._value_now()
                if type(array) is _ndarray and not on_host:
                    on_host = True
                arrays.append(array)
                if not a._view.is_row_major:
                    strided = True
                if records and a.requires_grad:
                    mask |= bit
        elif kind in NUMBERS and spec.number_mask & bit:
            arrays.append(a)
        else:
            arrays.append(coerce(spec, a, bit, arrays))
        bit += bit
    return arrays, mask, strided, on_host


def run(
    spec: OpSpec, operands: Sequence[Any], statics: Statics, lengths: tuple[int, ...] = ()
) -> Any:
    """Run an op on operands (tensors, numbers, None) and canonical statics."""
    arrays, mask, strided, on_host = gather_operands(spec, operands)
    infers = mask and not (modes.current.grad_enabled and spec.differentiable)
    if infers:
        mask = 0
    if spec.check is not None:
        check_values(spec, arrays, statics, lengths)
    key = (mask, statics, lengths) if lengths else (mask, statics)
    exe = spec.cache.get(key)
    if exe is None:
        exe = spec.executable(mask, statics, lengths, len(arrays))
    try:
        if mask:
            result = execute(exe, arrays, operands, on_host)
        else:
            out = DECLINED
            if on_host:
                out = exe.by_numpy(*arrays) if on_host is True else on_host.record_op(exe, arrays)
            if out is DECLINED:
                if on_host:
                    to_device(arrays, operands)
                out = exe.forward(*arrays) if not exe.is_large else _large(exe, arrays)
            elif infers and on_host is True:
                keep_on_host(arrays, operands)
            if type(out) is tuple:
                result = tuple([wrap(o) for o in out])
            else:
                result = _new(Tensor)
                result._storage = Storage(out) if not exe.is_large else storage_of_large(out)
    except Exception as error:
        kind = cells.kind_among(arrays)
        if kind is None:
            raise explain(error, spec.name, arrays) from None
        if kind.run_op is not None:
            return kind.run_op(spec, operands, statics, lengths)
        result = run_without_arrays(exe, arrays, operands, spec.name)
    if strided and spec.memory_order is not None:
        spec.memory_order(result, operands, spec, statics)
    if modes.current.inference:
        mark_inference(result)
    if spec.returns is not None:
        return spec.returns(*result)
    return result


def run_without_arrays(
    exe: Executable, arrays: list[Argument], operands: Sequence[object], name: str
) -> Any:
    """Execute an op after a compiled form refused an operand that is no array."""
    try:
        return execute_without_arrays(exe, arrays, operands)
    except Exception as error:
        raise explain(error, name, arrays) from None


def _large(exe: Executable, arrays: list[Argument]) -> Any:
    """Run the forward of an executable that has given a large result."""
    if modes.current.capture is not None:
        return exe.forward(*arrays)
    return recycling.forward(exe, arrays)


run_check = Provided("runs an op's check (of arrays, with a key) on the values of a call")


def check_values(
    spec: OpSpec, arrays: Sequence[Argument], statics: Statics, lengths: tuple[int, ...]
) -> None:
    """Run the op's check of values on its arguments."""

    def check(*arrays: Argument) -> None:
        grouped = group(arrays, lengths) if lengths else arrays
        spec.check(*spec.combine(grouped, statics))  # type: ignore[misc]

    run_check(check, arrays, (spec, statics, lengths))


def run_with_sequences(spec: OpSpec, operands: Sequence[Any], statics: Statics) -> Any:
    """Run an op with list operands (cat, stack)."""
    flat, lengths = flatten_sequences(spec, operands)
    return run(spec, flat, statics, lengths)


def flatten_sequences(
    spec: OpSpec, operands: Sequence[object]
) -> tuple[list[object], tuple[int, ...]]:
    """Flatten the list operands; return them and their lengths (-1 for an operand that is no
    list)."""
    flat: list[object] = []
    lengths: list[int] = []
    for i, o in zip(spec.schema.operand_positions, operands, strict=True):
        if not spec.schema.kinds[i].sequence:
            flat.append(o)
            lengths.append(-1)
            continue
        if not isinstance(o, (tuple, list)):
            raise TypeError(
                f"{spec.name}(): argument '{spec.schema.names[i]}' (position {i + 1}) must be "
                f"tuple of Tensors, not {type(o).__name__}"
            )
        for k, element in enumerate(o):
            if not isinstance(element, Tensor):
                raise overrides.no_tensor(
                    element,
                    f"expected Tensor as element {k} in argument {i}, but got "
                    f"{type(element).__name__}",
                )
        flat.extend(o)
        lengths.append(len(o))
    return flat, tuple(lengths)


def coerce(spec: OpSpec, value: object, bit: int, before: Sequence[Argument]) -> Any:
    """Return the array or number for an operand that is neither a tensor nor a number that any
    tensor takes: None, a NumPy scalar, a number that must fit the first of the operands ``before``
    it. Refuse a mistake."""
    position = spec.schema.operand_positions[
        min(bit.bit_length(), len(spec.schema.operand_positions)) - 1
    ]
    kind = spec.schema.kinds[position]
    if value is None and kind.optional:
        return None
    if kind.number and (overrides.are_enabled() or not overrides.has_function(type(value))):
        if isinstance(value, np.generic):
            value = value.item()
        elif type(value) not in NUMBERS and isinstance(value, (int, float, complex)):
            # Subclasses, such as IntEnum.
            value = (
                complex(value)
                if isinstance(value, complex)
                else (float(value) if isinstance(value, float) else int(value))
            )
        if type(value) in NUMBERS:
            if kind.check is not None:
                kind.check(value, before[0])
            return value
    if isinstance(value, Tensor):  # a lazy module's: it may change its dtype, and no more
        if spec.takes_uninitialized:
            return value._read()
        raise ValueError(errors.uninitialized(spec.name))
    raise overrides.no_tensor(
        value,
        f"{spec.name}(): argument '{spec.schema.names[position]}' (position {position + 1}) must "
        f"be {kind.expects}, not {type(value).__name__}",
    )


def explain(error: Exception, name: str, arrays: Sequence[Any]) -> Exception:
    """Return the error as the user should see it: ours as it is; JAX's as a RuntimeError naming the
    op and the shapes. JAX's traceback frames are dropped: they say nothing of the user's line."""
    ours = (RuntimeError, IndexError, NotImplementedError, errors.InternalError)
    raised_by_us = isinstance(error, ours) and not isinstance(error, jax.errors.JaxRuntimeError)
    if hasattr(error, "of_hook"):  # raised by the user's saved-tensor hook
        return error
    from_us = type(error) in (TypeError, ValueError) and not _from_jax(error)
    if one_device.refused(error):
        found = [accelerator_of(a) or CPU for a in arrays if isinstance(a, jax.Array)]
        if len(set(found)) == 1:  # meshes of other devices
            return RuntimeError(f"Expected all tensors to be on the same device. {error}")
        if name in one_device.INDEXING:
            return RuntimeError(errors.INDICES_ELSEWHERE.format(found[0]))
        return RuntimeError(errors.several_devices(found))
    if raised_by_us or from_us:
        # JAX notes that it removed frames of its own; so do we, and say nothing of it.
        error.__notes__ = [n for n in getattr(error, "__notes__", ()) if "JAX" not in n]
        error.__cause__ = None
        return error.with_traceback(None)
    if isinstance(error, OverflowError):  # PyTorch: from 2**64 on
        words = f"int too big to convert: {name}() takes integers of 64 bits; write it as a float"
        return OverflowError(with_code(words))
    shapes = ", ".join(
        f"{list(a.shape)} {a.dtype}" if hasattr(a, "shape") else repr(a) for a in arrays
    )
    if device_memory.is_refused(error):
        return errors.out_of_memory(error, arrays, f"{name}() on operands ({shapes})")
    text = str(error).split("\n--------------------")[0]
    clear = RuntimeError(f"{name}() failed on operands ({shapes}): {text}")
    clear.__cause__ = None
    return clear


def _from_jax(error: Exception) -> bool:
    """Return whether the innermost frame of the traceback is JAX's or NumPy's rather than ours."""
    tb = error.__traceback__
    module = ""
    while tb is not None:
        module = tb.tb_frame.f_globals.get("__name__", "")
        tb = tb.tb_next
    return not module.startswith("torchlike")


def mark_inference(result: Result) -> None:
    for t in result if isinstance(result, tuple) else (result,):
        t._inference = True


def into_out(spec: OpSpec, operands: Sequence[object], statics: Statics, out: Any) -> Any:
    """Run ``op(…, out=out)``: write the results into ``out`` and return it."""
    outputs.check_overlap(out, operands, spec.name, spec.reorders, spec.in_place is not None)
    casts = spec.casts_out(*operands) if callable(spec.casts_out) else spec.casts_out
    if casts == "dtype":
        at = spec.schema.static_positions.index(spec.schema.index["dtype"])
        if statics[at] is None:
            statics = (*statics[:at], out.dtype.numpy, *statics[at + 1 :])
    runner = run_with_sequences if spec.schema.has_sequence else run
    results = runner(spec, operands, statics)
    outputs.store_all(out, results, spec.name, casts)
    return type(results)(*out) if hasattr(results, "_fields") else out
