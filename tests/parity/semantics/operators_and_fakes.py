"""Custom operators, fakes, tables of masked tensors, and inner places that libraries name."""

from __future__ import annotations

import importlib
from typing import Any


def _at(t: Any, place: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{place}")


def _fakes(t: Any) -> Any:
    return _at(t, "_subclasses.fake_tensor")


def _unary(t: Any) -> Any:
    return _at(t, "masked.maskedtensor.unary")


def _binary(t: Any) -> Any:
    return _at(t, "masked.maskedtensor.binary")


def _masked(t: Any, *values: float) -> Any:
    return t.masked.masked_tensor(t.tensor(values), t.tensor([True, False, True]))


def _shown(result: Any) -> Any:
    return result.get_data() * result.get_mask(), result.get_mask()


def names_of_functions_of_one_operand(t: Any) -> Any:
    u = _unary(t)
    return u.UNARY_NAMES, sorted(u.INPLACE_UNARY_NAMES), u.UNARY_NAMES_UNSUPPORTED


def names_of_functions_of_two_operands(t: Any) -> Any:
    return _binary(t).BINARY_NAMES, sorted(_binary(t).INPLACE_BINARY_NAMES)


def operators_of_one_operand(t: Any) -> Any:
    u = _unary(t)
    return [str(f) for f in u.NATIVE_UNARY_FNS], sorted(map(str, u.NATIVE_INPLACE_UNARY_MAP))


def operators_of_two_operands(t: Any) -> Any:
    b = _binary(t)
    return [str(f) for f in b.NATIVE_BINARY_FNS], sorted(map(str, b.NATIVE_INPLACE_BINARY_FNS))


def each_function_of_one_operand(t: Any) -> Any:
    held = _masked(t, 0.25, 0.5, 0.75)
    left_out = ("bitwise_not", "clamp", "clip", "pow")
    names = [n for n in _unary(t).UNARY_NAMES if n not in left_out]
    return {n: _shown(getattr(t, n)(held)) for n in names}


def each_function_of_two_operands(t: Any) -> Any:
    a, b = _masked(t, 0.25, 0.5, 0.75), _masked(t, 2.0, 3.0, 0.5)
    names = [n for n in _binary(t).BINARY_NAMES if "bitwise" not in n]
    return {n: _shown(getattr(t, n)(a, b)) for n in names}


def an_operator_asked_for(t: Any) -> Any:
    u, b, aten = _unary(t), _binary(t), t.ops.aten
    return [
        u._is_native_unary(aten.abs),
        u._is_native_unary(aten.add),
        u._is_native_unary(aten.abs_),
        b._is_native_binary(aten.add),
        b._is_native_binary(aten.abs),
    ]


def an_operator_applied(t: Any) -> Any:
    held = _masked(t, -1.0, 2.0, 3.0)
    return _shown(_unary(t)._apply_native_unary(t.ops.aten.abs, held)), _shown(
        _binary(t)._apply_native_binary(t.ops.aten.add, held, held)
    )


def chosen_by_a_mask(t: Any) -> Any:
    where = _at(t, "masked._ops")._where
    return where(t.tensor([True, False]), t.ones(2), t.tensor(0.0))


def chosen_by_a_sparse_mask(t: Any) -> Any:
    where = _at(t, "masked._ops")._where
    return where(t.tensor([True, False]).to_sparse(), t.ones(2).to_sparse(), t.tensor(0.0))


def a_library_that_is_gone(t: Any) -> Any:
    made = t.library.Library(f"gone_{t.__name__}", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x + 1, "CPU")
    found = getattr(t.ops, f"gone_{t.__name__}").f(t.ones(1))
    made._destroy()
    try:
        getattr(t.ops, f"gone_{t.__name__}").f(t.ones(1))
    except AttributeError:
        return found, "gone"


def _nonzero(t: Any, name: str, fake: bool) -> Any:
    def body(x: t.Tensor) -> t.Tensor:  # type: ignore[name-defined]
        return x * 2

    body.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    made = t.library.custom_op(f"own_{t.__name__}::{name}", mutates_args=())(body)
    if fake:
        made.register_fake(lambda x: t.empty_like(x))
    return made


def an_operator_with_a_fake(t: Any) -> Any:
    made = _nonzero(t, "with_fake", True)
    with _fakes(t).FakeTensorMode():
        return made(t.ones(2)).shape


def an_operator_without_a_fake(t: Any) -> Any:
    made = _nonzero(t, "without_fake", False)
    with _fakes(t).FakeTensorMode():
        try:
            made(t.ones(2))
        except RuntimeError as error:
            return type(error).__name__, str(error)[:40]


def a_fake_parameter(t: Any) -> Any:
    q = _fakes(t).FakeTensorMode().from_tensor(t.nn.Parameter(t.ones(2)))
    return isinstance(q, t.nn.Parameter), type(q).__name__, q.requires_grad, q.is_leaf


def a_converter(t: Any) -> Any:
    fakes = _fakes(t)
    mode, converter, x = fakes.FakeTensorMode(), fakes.FakeTensorConverter(), t.ones(2)
    made = converter.from_real_tensor(mode, x)
    return type(made).__name__, converter.from_real_tensor(mode, x) is made, made.shape


def modes_in_one_another(t: Any) -> Any:
    fakes = _fakes(t)
    with fakes.FakeTensorMode(), fakes.FakeTensorMode() as inner:
        return t.ones(1).fake_mode is inner


def fakes_of_two_modes(t: Any) -> Any:
    fakes = _fakes(t)
    with fakes.FakeTensorMode():
        x = t.ones(2)
        with fakes.FakeTensorMode():
            try:
                return x + 1
            except AssertionError as error:
                return str(error)[:20]


def _with_a_size_of_values(t: Any, name: str) -> Any:
    def body(x: t.Tensor) -> t.Tensor:  # type: ignore[name-defined]
        return x.nonzero()

    body.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    made = t.library.custom_op(f"own_{t.__name__}::{name}", mutates_args=())(body)

    def fake(x: Any) -> Any:
        n = t.library.get_ctx().new_dynamic_size(max=x.numel())
        return x.new_empty((n, x.dim()), dtype=t.long)

    made.register_fake(fake)
    return made


def an_operator_with_a_size_of_values(t: Any) -> Any:
    made = _with_a_size_of_values(t, "sized")
    env = _at(t, "fx.experimental.symbolic_shapes").ShapeEnv()
    with _fakes(t).FakeTensorMode(shape_env=env):
        return str(made(t.ones(3)))


def an_operator_with_a_size_of_values_and_no_symbols(t: Any) -> Any:
    made = _with_a_size_of_values(t, "unsized")
    with _fakes(t).FakeTensorMode():
        try:
            made(t.ones(3))
        except RuntimeError as error:
            return type(error).__name__


def an_operator_with_a_size_of_values_exported(t: Any) -> Any:
    made = _with_a_size_of_values(t, "exported")
    module = type("M", (t.nn.Module,), {"forward": lambda self, x: made(x) + 1})()
    program = t.export.export(module, (t.tensor([1, 0]),))
    return program.module()(t.tensor([0, 0])), program.module()(t.tensor([2, 3]))


def the_context_outside_of_fakes(t: Any) -> Any:
    return t.library.get_ctx(), _at(t, "_custom_ops").get_ctx()


def an_operator_of_a_library_without_a_fake(t: Any) -> Any:
    made = t.library.Library(f"bare_{t.__name__}", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x + 1, "CPU")
    try:
        with _fakes(t).FakeTensorMode():
            return getattr(t.ops, f"bare_{t.__name__}").f(t.ones(1))
    except RuntimeError as error:
        return type(error).__name__
    finally:
        made._destroy()


def whether_an_operator_has_a_fake(t: Any) -> Any:
    find = _at(t, "_library.simple_registry").singleton.find
    _nonzero(t, "asked_with", True)
    _nonzero(t, "asked_without", False)
    names = ("asked_with", "asked_without", "nowhere")
    return [find(f"own_{t.__name__}::{n}").fake_impl.kernel is not None for n in names]


def a_cache_that_is_cleared(t: Any) -> Any:
    mode = _fakes(t).FakeTensorMode
    mode.cache_clear()
    return mode.cache_info()


def a_module_that_is_converted(t: Any) -> Any:
    fakes = _fakes(t)
    model = t.nn.Linear(2, 3)
    mode = fakes.FakeTensorMode()
    convert = mode.fake_tensor_converter.from_real_tensor
    state = {n: convert(mode, p) for n, p in model.named_parameters()}
    with mode:
        out = t.func.functional_call(model, state, (mode.from_tensor(t.ones(1, 2)),))
    return (
        out.shape,
        type(out).__name__,
        out.requires_grad,
        isinstance(state["weight"], t.nn.Parameter),
    )


def a_value_of_a_fake(t: Any) -> Any:
    with _fakes(t).FakeTensorMode():
        try:
            t.ones(2).sum().item()
        except Exception as error:
            return type(error).__name__


def places_of_a_fake(t: Any) -> Any:
    with _fakes(t).FakeTensorMode():
        try:
            t.ones(3).nonzero()
        except Exception as error:
            return type(error).__name__


def an_array_of_a_fake(t: Any) -> Any:
    with _fakes(t).FakeTensorMode():
        try:
            t.ones(2).numpy()
        except Exception as error:
            return type(error).__name__


def functions_of_refs(t: Any) -> Any:
    refs = _at(t, "_refs")
    functional, linalg = _at(t, "_refs.nn.functional"), _at(t, "_refs.linalg")
    return [
        refs.add(t.ones(2), 1),
        refs.softmax(t.ones(2), 0),
        refs.cat([t.ones(1), t.ones(1)]),
        refs.var(t.arange(3.0)),
        functional.relu(t.tensor([-1.0, 1.0])),
        linalg.vector_norm(t.ones(4)),
    ]


def views_of_refs(t: Any) -> Any:
    return _at(t, "_refs").view(t.ones(4), (2, 2))


def modules_of_training_with_quantization(t: Any) -> Any:
    return _at(t, "ao.nn.qat").Linear(2, 2, qconfig=None)


def trees_in_c(t: Any) -> Any:
    return _at(t, "utils._cxx_pytree").tree_leaves([1, (2, 3)])
