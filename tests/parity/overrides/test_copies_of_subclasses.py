"""Parameters, copies, files and the text of tensor subclasses, as in PyTorch."""

import copy
import io

import pytest

import torchlike
from tests.parity.oracle import compare, refused
from torchlike._core import overrides

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _awake():
    overrides.enable()


def wrapper(library, *, rewraps=True, base=None):
    """A wrapper subclass that computes on the tensor inside, and wraps the results."""

    class Wrapper(base or library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [a.inner if isinstance(a, cls) else a for a in args]
            result = func(*plain, **(kwargs or {}))
            return cls(result) if rewraps and isinstance(result, library.Tensor) else result

        def __repr__(self):
            return super().__repr__(tensor_contents="inside")

    return Wrapper


class TheirSaved(wrapper(torch)):
    pass


class OurSaved(wrapper(torchlike)):
    pass


SAVED = {torch: TheirSaved, torchlike: OurSaved}


def tagging(library):
    """A subclass whose results know the function that made them."""

    class Tagging(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs)
            if isinstance(result, cls):
                result.tag = func.__name__
            return result

    return Tagging


def slotted(library):
    class Slotted(library.Tensor):
        __slots__ = ["note"]

        def new_empty(self, *size, **kwargs):
            return library.empty(*size, **kwargs).as_subclass(type(self))

    return Slotted


@pytest.mark.parametrize("of_parameter", [False, True])
def test_text_in_the_place_of_values(of_parameter):
    def texts(t):
        x = wrapper(t)(t.ones(2, 3))
        if of_parameter:
            x = t.nn.Parameter(x)
        plain = t.ones(2, dtype=t.float64)
        return repr(x), plain.__repr__(tensor_contents="none"), repr(t.nn.Parameter(t.ones(1)))

    compare(texts)


def test_a_subclass_of_parameter_says_its_name():
    def text(t):
        class Own(t.nn.Parameter):
            pass

        kept = t.nn.Parameter(t.ones(1).as_subclass(type("Kept", (t.Tensor,), {})))
        return repr(Own(t.ones(1))), repr(kept)

    compare(text)


def test_a_parameter_of_a_subclass_is_what_detach_gives():
    def made(t):
        kind = tagging(t)
        x = t.ones(2).as_subclass(kind)
        x.tag, x.other = "mine", 1
        p = t.nn.Parameter(x)
        return p.tag, hasattr(p, "other"), p.requires_grad, x.requires_grad, type(p) is kind

    assert compare(made)[:2] == ("requires_grad_", False)


def test_detach_of_another_class_makes_no_parameter():
    refused(lambda t: t.nn.Parameter(wrapper(t, rewraps=False)(t.ones(2))), words=120)


def test_a_class_of_operators_has_no_part_in_functions():
    def which(t):
        off = t._C._disabled_torch_function_impl
        plain = wrapper(t)
        own = wrapper(t, base=tagging(t))
        later = type("Later", (plain,), {})
        results = wrapper(t, rewraps=False)(t.ones(2)).sin()
        return [
            plain.__torch_function__ is off,
            own.__torch_function__ is off,
            later.__torch_function__ is off,
            "__torch_function__" in vars(later),
            type(results) is t.Tensor,
        ]

    assert compare(which) == [True, False, True, False, True]


@pytest.mark.parametrize("of_parameter", [False, True])
def test_a_copy_of_a_wrapper_has_what_was_set_on_it(of_parameter):
    def copied(t):
        x = wrapper(t)(t.arange(3.0))
        x = t.nn.Parameter(x) if of_parameter else x
        x.note = ["mine"]
        y = copy.deepcopy(x)
        y.inner[0] = 9
        parameter = isinstance(y, t.nn.Parameter)
        return y.note, y.note is x.note, y.inner, x.inner, parameter, y.requires_grad

    compare(copied)


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("of_parameter", [False, True])
def test_a_wrapper_in_a_file(of_parameter, weights_only):
    def loaded(t):
        x = SAVED[t](t.arange(3.0))
        x = t.nn.Parameter(x) if of_parameter else x
        x.note = "mine"
        file = io.BytesIO()
        t.save({"x": x}, file)
        file.seek(0)
        with t.serialization.safe_globals([SAVED[t]]):
            y = t.load(file, weights_only=weights_only)["x"]
        return (
            y.note,
            y.inner,
            type(y) is SAVED[t],
            isinstance(y, t.nn.Parameter),
            y.requires_grad,
            y.shape,
            y.stride(),
            str(y.dtype),
        )

    compare(loaded)


def test_slots_of_a_parameter():
    def made(t):
        x = t.ones(2).as_subclass(slotted(t))
        x.note = "mine"
        y = copy.deepcopy(x)
        return y.note, hasattr(t.nn.Parameter(x), "note")

    compare(made)


@pytest.mark.parametrize("name", ["data_ptr", "resize_", "copy_", "fill_", "_write_file"])
def test_a_wrapper_has_no_memory(name):
    def asked(t):
        x = wrapper(t)(t.ones(2))
        storage = x.untyped_storage()
        given = {"copy_": (storage,), "data_ptr": ()}.get(name, (0,))
        assert (x.data_ptr(), storage.size()) == (0, 8)
        return getattr(storage, name)(*given)

    refused(asked, words=200)


def test_bytes_of_a_storage_are_set():
    def set_bytes(t):
        x = t.zeros(2, dtype=t.int16)
        storage = x.untyped_storage()
        seen = [storage.fill_(257) is storage, x.tolist()]
        storage.copy_(t.UntypedStorage([1, 2, 3, 4]))
        return [*seen, x]

    compare(set_bytes)
    refused(lambda t: t.UntypedStorage(4).copy_(t.UntypedStorage(3)), words=80)
    refused(lambda t: t.UntypedStorage(4).copy_(t.ones(1)), words=80)
    refused(lambda t: t.UntypedStorage(4).fill_(1.5), words=80)
