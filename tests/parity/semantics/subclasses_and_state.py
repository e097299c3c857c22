"""Subclasses of tensors with state of their own: written to files, pickled and copied."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any


def _subclass(t: Any, base: Any = None, **body: Any) -> Any:
    """A subclass ``Own``, which a pickle finds by its name, as one written in a module."""
    namespace = {"__module__": __name__, "__qualname__": "Own", **body}
    globals()["Own"] = made = type("Own", (base or t.Tensor,), namespace)
    return made


def _own(t: Any, **body: Any) -> Any:
    """An instance, with the attribute ``note``."""
    x = t.arange(3.0).as_subclass(_subclass(t, **body))
    x.note = ["kept"]
    return x


def _copyable(t: Any, **body: Any) -> Any:
    """The same of a class with the ``new_empty`` that PyTorch's ``__deepcopy__`` asks for."""

    def new_empty(self: Any, *size: Any, **how: Any) -> Any:
        return t.empty(0).as_subclass(type(self))

    return _own(t, new_empty=new_empty, **body)


def _by_file(t: Any, x: Any, **how: Any) -> Any:
    buffer = io.BytesIO()
    t.save(x, buffer, **how)
    buffer.seek(0)
    return t.load(buffer, weights_only=False)


def _by_pickle(t: Any, x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


def _shown(x: Any) -> Any:
    """The class, the elements, and what was set on the tensor."""
    fields = ("note", "slot", "made", "calls")
    return type(x).__name__, x.tolist(), {f: getattr(x, f) for f in fields if hasattr(x, f)}


def attributes_in_a_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t)))


def attributes_in_an_old_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t), _use_new_zipfile_serialization=False))


def attributes_in_a_pickle(t: Any) -> Any:
    return _shown(_by_pickle(t, _own(t)))


def a_deep_copy_without_new_empty(t: Any) -> Any:
    return _shown(copy.deepcopy(_own(t)))


def attributes_of_a_deep_copy(t: Any) -> Any:
    x = _copyable(t)
    y = copy.deepcopy(x)
    return _shown(y), y.note is x.note


def attributes_of_a_copy(t: Any) -> Any:
    x = _own(t)
    y = copy.copy(x)
    return _shown(y), y.note is x.note, y.data_ptr() == x.data_ptr()


def slots_in_a_file(t: Any) -> Any:
    x = _own(t, __slots__=("slot",))
    x.slot = 7
    return _shown(_by_file(t, x))


def slots_in_a_pickle(t: Any) -> Any:
    x = _own(t, __slots__=("slot",))
    x.slot = 7
    return _shown(_by_pickle(t, x))


def slots_of_a_deep_copy(t: Any) -> Any:
    x = _copyable(t, __slots__=("slot",))
    x.slot = [7]
    y = copy.deepcopy(x)
    return _shown(y), y.slot is x.slot


def an_empty_slot_in_a_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t, __slots__=("slot",))))


def _told_state(self: Any) -> Any:
    return {"note": "told by __getstate__"}


def _taken_state(self: Any, state: Any) -> None:
    self.made = ("taken by __setstate__", state)


def getstate_in_a_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t, __getstate__=_told_state)))


def getstate_in_a_pickle(t: Any) -> Any:
    return _shown(_by_pickle(t, _own(t, __getstate__=_told_state)))


def getstate_and_setstate_in_a_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t, __getstate__=_told_state, __setstate__=_taken_state)))


def getstate_and_setstate_in_a_pickle(t: Any) -> Any:
    return _shown(_by_pickle(t, _own(t, __getstate__=_told_state, __setstate__=_taken_state)))


def setstate_of_plain_attributes(t: Any) -> Any:
    def take(self: Any, state: Any) -> None:
        self.made = sorted(state)

    return _shown(_by_file(t, _own(t, __setstate__=take)))


def an_inherited_setstate(t: Any) -> Any:
    parent = type("Parent", (t.Tensor,), {"__setstate__": _taken_state})
    x = t.ones(2).as_subclass(_subclass(t, parent, __getstate__=_told_state))
    return _shown(_by_file(t, x))


def getstate_of_a_deep_copy(t: Any) -> Any:
    x = _copyable(t, __getstate__=_told_state, __setstate__=_taken_state)
    return _shown(copy.deepcopy(x))


def _by_a_rule(self: Any, protocol: Any) -> Any:
    return _rebuilt_by_a_rule, (type(self), self.tolist())


def _rebuilt_by_a_rule(kind: Any, values: Any) -> Any:
    import importlib

    library = importlib.import_module(kind.__mro__[1].__module__.partition(".")[0])
    made = library.tensor(values).as_subclass(kind)
    made.made = "by __reduce_ex__"
    return made


def reduce_ex_in_a_file(t: Any) -> Any:
    return _shown(_by_file(t, _own(t, __reduce_ex__=_by_a_rule)))


def reduce_ex_in_a_pickle(t: Any) -> Any:
    return _shown(_by_pickle(t, _own(t, __reduce_ex__=_by_a_rule)))


def reduce_ex_of_a_copy(t: Any) -> Any:
    return _shown(copy.copy(_own(t, __reduce_ex__=_by_a_rule)))


def a_deepcopy_of_its_own(t: Any) -> Any:
    def own(self: Any, memo: Any) -> Any:
        made = self.clone()
        made.made = "by __deepcopy__"
        return made

    return _shown(copy.deepcopy({"x": _own(t, __deepcopy__=own)})["x"])


def a_class_without_torch_function(t: Any) -> Any:
    x = _own(t, __torch_function__=t._C._disabled_torch_function_impl)
    return _shown(_by_file(t, x)), type(x * 1).__name__


def a_copy_of_a_class_without_torch_function(t: Any) -> Any:
    x = _copyable(t, __torch_function__=t._C._disabled_torch_function_impl)
    return _shown(copy.deepcopy(x))


def what_torch_function_sees_of_a_deep_copy(t: Any) -> Any:
    seen: list[str] = []

    def handle(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(func.__name__)
        with t._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    x = _copyable(t, __torch_function__=classmethod(handle))
    seen.clear()
    copy.deepcopy(x)
    return seen


def a_constructor_that_is_not_called(t: Any) -> Any:
    calls: list[int] = []

    def new(cls: Any, values: Any, extra: Any) -> Any:
        calls.append(1)
        made = t.Tensor._make_subclass(cls, t.tensor(values))
        made.note = extra
        return made

    x = _subclass(t, __new__=new)([1.0], "extra")
    return _shown(_by_file(t, x)), _shown(copy.copy(x)), len(calls)


def a_parameter_with_state(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    p.note = "kept"
    q = _by_file(t, p)
    return type(q).__name__, q.note, q.requires_grad


def a_parameter_with_state_deeply_copied(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    p.note = "kept"
    return hasattr(copy.deepcopy(p), "note")


def a_parameter_of_a_subclass(t: Any) -> Any:
    p = t.nn.Parameter(_own(t))
    q = _by_file(t, p)
    return _shown(q), isinstance(q, t.nn.Parameter), q.requires_grad


def a_subclass_of_parameter(t: Any) -> Any:
    x = _subclass(t, t.nn.Parameter)(t.ones(2))
    x.note = "kept"
    y = _by_file(t, x)
    return _shown(y), y.requires_grad, isinstance(y, t.nn.Parameter)


def a_subclass_that_requires_grad(t: Any) -> Any:
    x = _copyable(t).requires_grad_()
    return _by_file(t, x).requires_grad, copy.deepcopy(x).requires_grad


def a_gradient_of_a_subclass_deeply_copied(t: Any) -> Any:
    x = _copyable(t).requires_grad_()
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    return type(y.grad).__name__, y.grad.tolist(), y.grad is x.grad


def a_subclass_of_strided_memory(t: Any) -> Any:
    x = t.arange(6.0).reshape(2, 3).t().as_subclass(_subclass(t))
    y = _by_file(t, x)
    return type(y).__name__, y.stride(), y.tolist(), copy.copy(x).stride()


def a_subclass_that_shares_memory(t: Any) -> Any:
    x = t.arange(4.0)
    a, b = _by_file(t, (x, x[1:].as_subclass(_subclass(t))))
    a.zero_()
    return _shown(b)


def a_subclass_of_conjugates(t: Any) -> Any:
    x = t.tensor([1 + 2j]).conj().as_subclass(_subclass(t))
    y = _by_file(t, x)
    return type(y).__name__, y.is_conj(), y.tolist()


def a_tensor_as_an_attribute(t: Any) -> Any:
    x = _own(t)
    x.note = x.detach()[1:]
    y = _by_file(t, x)
    y.zero_()
    return type(y.note).__name__, y.note.tolist()


def a_tensor_as_an_attribute_deeply_copied(t: Any) -> Any:
    x = t.arange(3.0)
    x.note = x[1:]
    y = copy.deepcopy(x)
    y.zero_()
    return y.note, x


def a_subclass_in_a_state_dict(t: Any) -> Any:
    layer = t.nn.Linear(2, 1)
    layer.weight = t.nn.Parameter(t.ones(1, 2).as_subclass(_subclass(t)))
    found = _by_file(t, layer.state_dict())
    return {k: type(v).__name__ for k, v in found.items()}


def a_subclass_that_is_not_allowed(t: Any) -> Any:
    buffer = io.BytesIO()
    t.save(_own(t), buffer)
    buffer.seek(0)
    return t.load(buffer)


def a_subclass_that_is_allowed(t: Any) -> Any:
    buffer = io.BytesIO()
    x = _own(t)
    t.save(x, buffer)
    buffer.seek(0)
    with t.serialization.safe_globals([type(x)]):
        return _shown(t.load(buffer))


def a_setstate_that_is_allowed(t: Any) -> Any:
    buffer = io.BytesIO()
    x = _own(t, __getstate__=_told_state, __setstate__=_taken_state)
    t.save(x, buffer)
    buffer.seek(0)
    with t.serialization.safe_globals([type(x)]):
        return _shown(t.load(buffer))


def a_subclass_whose_class_is_gone(t: Any) -> Any:
    buffer = io.BytesIO()
    t.save(_own(t), buffer)
    buffer.seek(0)
    del globals()["Own"]
    return t.load(buffer, weights_only=False)


def a_local_subclass(t: Any) -> Any:
    class Local(t.Tensor):
        pass

    t.save(t.ones(1).as_subclass(Local), io.BytesIO())


def state_that_cannot_be_pickled(t: Any) -> Any:
    x = _own(t)
    x.note = lambda: 1
    t.save(x, io.BytesIO())


def the_state_that_is_asked_for(t: Any) -> Any:
    x = _own(t)
    return x.__getstate__(), t.ones(1).__getstate__()


def one_object_twice(t: Any) -> Any:
    x = _own(t)
    a, b = _by_file(t, [x, x])
    return a is b, _shown(a)


def state_that_holds_the_tensor(t: Any) -> Any:
    x = _own(t)
    x.note = {"others": [t.ones(1), t.zeros(2)]}
    return _by_file(t, x).note


def a_subclass_with_another_base(t: Any) -> Any:
    mixin = type("Mixin", (), {"doubled": lambda self: self * 2})
    namespace = {"__module__": __name__, "__qualname__": "Own"}
    globals()["Own"] = kind = type("Own", (mixin, t.Tensor), namespace)
    return _by_file(t, t.ones(2).as_subclass(kind)).doubled().tolist()


def a_result_of_a_subclass(t: Any) -> Any:
    x = _own(t).requires_grad_()
    y = _by_file(t, x * 2)
    return type(y).__name__, y.requires_grad, y.is_leaf, hasattr(y, "note")


def attributes_of_results(t: Any) -> Any:
    x = _own(t)
    return [hasattr(y, "note") for y in (x * 2, x.clone(), x.detach(), x.view(-1), x.to(t.float64))]


def a_view_of_a_subclass(t: Any) -> Any:
    x = _own(t)
    y = _by_file(t, x[1:])
    return type(y).__name__, y.storage_offset(), y.untyped_storage().nbytes()


def a_subclass_without_values(t: Any) -> Any:
    x = t.empty(2, 3, device="meta").as_subclass(_subclass(t))
    x.note = "kept"
    y = _by_file(t, x)
    return type(y).__name__, y.note, y.device.type, tuple(y.shape)


def a_state_of_another_form(t: Any) -> Any:
    return _by_file(t, _own(t, __getstate__=lambda self: (1, 2, 3)))


def no_state(t: Any) -> Any:
    return _shown(_by_file(t, _own(t, __getstate__=lambda self: None)))


def a_module_with_a_subclass_deeply_copied(t: Any) -> Any:
    layer = t.nn.Linear(2, 1)
    layer.weight = t.nn.Parameter(_copyable(t)[:2].view(1, 2))
    other = copy.deepcopy(layer)
    return type(other.weight).__name__, other.weight is layer.weight, other.weight.tolist()


def every_protocol_of_pickle(t: Any) -> Any:
    x = _own(t)
    return [_shown(pickle.loads(pickle.dumps(x, protocol))) for protocol in (2, 3, 4, 5)]


def attributes_that_are_properties(t: Any) -> Any:
    def get(self: Any) -> Any:
        return self.__dict__.get("kept", 0) + 1

    def put(self: Any, value: Any) -> None:
        self.__dict__["kept"] = value

    x = _own(t, made=property(get, put))
    x.made = 5
    return _shown(_by_file(t, x))
