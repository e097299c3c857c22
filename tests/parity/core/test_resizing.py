"""resize_, set_ and ``out=`` of another size against PyTorch: values, sharing, strides, errors."""

import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


def images(lib):
    return lib.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=lib.channels_last)


def memory(lib, t):
    """All that lies in the memory of a tensor."""
    count = t.untyped_storage().nbytes() // t.itemsize
    return lib.as_strided(t.detach(), (count,), (1,), 0)


# Each gives tensors, or plain values; new memory is filled before it is looked at, as PyTorch does
# not clear it.


def smaller(lib):
    x = lib.arange(6.0)
    rest = x[3:]
    x.resize_(2)[0] = 7
    rest[0] = 9
    return x, rest, memory(lib, x)


def smaller_and_back(lib):
    x = lib.arange(6.0)
    return x.resize_(2).clone(), x.resize_(2, 3)


def detached_one_smaller(lib):
    x = lib.arange(6.0)
    x.detach().resize_(3)[0] = 5
    return x


def detached_one_larger(lib):
    x = lib.arange(6.0)
    d = x.detach().resize_(3, 4)
    d[1:] = 8
    d[0, 0] = 5
    return x, d, memory(lib, x)


def a_view_larger(lib):
    x = lib.arange(6.0).reshape(2, 3)
    y, v = x.t(), x[1]
    v.resize_(5).fill_(7)
    x[0, 0] = 4
    return x, y, v, v.storage_offset(), memory(lib, x)


def a_base_larger(lib):
    x = lib.arange(6.0).reshape(2, 3).clone()
    row, window, turned = x[1], x.unfold(1, 2, 1), x.t()
    strided = x.as_strided((2, 2), (1, 2), 1)
    x.resize_(4, 5).fill_(1)
    row[1] = 9
    return x, row, window, turned, strided


def transposed(lib):
    x = lib.arange(6.0).reshape(2, 3).clone().t_()
    return x.resize_(6), x.storage_offset()


def transposed_larger(lib):
    x = (lib.arange(6.0).reshape(2, 3).t() + 1).resize_(7)
    x[6] = 0
    return x


def expanded(lib):
    x = lib.ones(3).expand(2, 3)
    return x.resize_(2, 3).stride(), x.resize_(6).fill_(2), memory(lib, x)


def same_size(lib):
    x = lib.arange(6.0).reshape(2, 3).t()
    return x.resize_(3, 2), x._version, lib.zeros(3).resize_(size=(2,)), lib.ones(1).resize_(())


def channels_last(lib):
    x = images(lib)
    y = x.detach().resize_(2, 3, 2, 2, memory_format=lib.channels_last)
    return y, y.resize_(2, 3, 2, 2), x.resize_(2, 3, 4, 5, memory_format=lib.contiguous_format)


def channels_last_alone(lib):
    x = lib.arange(24.0).resize_(2, 3, 2, 2, memory_format=lib.channels_last)
    return x, memory(lib, x)


def larger_in_another_order(lib):
    x = lib.arange(6.0).reshape(2, 3).t() + 1
    row, all_of_it = x[1], x.detach()
    x.resize_(8).fill_(5)
    row[0] = 9
    return x, row, all_of_it


def as_another(lib):
    x, like = lib.zeros(2, 3, 4, 5), images(lib)[..., :2, :2].clone()
    other = lib.ones(5).resize_as_(lib.ones(2, 2))
    plain = x.detach().resize_as_(like)
    return other, plain, x.resize_as_(like, memory_format=lib.preserve_format)


def conjugated(lib):
    x = lib.complex(lib.arange(4.0), lib.arange(4.0) + 1)
    y, part = x.conj().resize_(2), x.conj().as_strided((2,), (2,))
    real = x.conj().real.is_conj(), x.conj().conj().is_conj()
    return (
        *real,
        y.resolve_conj(),
        y.is_conj(),
        part.resolve_conj(),
        x.conj()[1:].resize_(2).fill_(1j),
        x,
    )


def seen_by_numpy(lib):
    a = np.arange(6, dtype=np.float32)
    x = lib.from_numpy(a)
    x.resize_(2, 2)[0] = 5
    y = lib.zeros(6)
    b = y.numpy()
    y.resize_(3)
    y += 1
    c = np.zeros(4, np.float32)
    lib.from_numpy(c).resize_(2, 2)[0] = 5
    return x, a.tolist(), b.tolist(), c.tolist(), x.untyped_storage().resizable()


def numpy_larger(lib):
    return lib.from_numpy(np.zeros(2, np.float32)).resize_(5)


def out_for_numpy(lib):
    return lib.mul(lib.ones(3), 2, out=lib.from_numpy(np.zeros(2, np.float32)))


def out_within_numpy(lib):
    a = np.zeros(4, np.float32)
    return lib.mul(lib.ones(3), 2, out=lib.from_numpy(a)), a.tolist()


def out_of_a_view(lib):
    x = lib.arange(8.0)
    spaced, none = x[1::2], x[:0]
    lib.add(lib.ones(2), 1, out=spaced)
    return spaced, lib.add(lib.ones(3), 4, out=none), x


def out_larger(lib):
    x = lib.zeros(2)
    alias = x.detach()
    return lib.add(lib.ones(3), 1, out=x), alias, memory(lib, alias)


def out_in_the_order_of_the_result(lib):
    x = lib.empty(0)
    return lib.add(lib.ones(3, 2).t(), 1, out=x), x.stride()


def storage_larger(lib):
    x = lib.arange(4.0).reshape(2, 2)
    row = x[1]
    x.untyped_storage().resize_(32)
    row += 1
    return x, row, x.untyped_storage().nbytes()


def versions(lib):
    x, y, z = lib.zeros(2, 3), lib.zeros(2, 3), lib.zeros(2, 3)
    row = y[0]
    x.resize_(2, 3)
    y.resize_(9)
    z.resize_(3)
    return x._version, y._version, row._version, z._version


def of_meta(lib):
    x = lib.zeros(3, device="meta")
    v = x[1:]
    return tuple(x.resize_(2, 4).shape), tuple(v.shape), x.stride(), tuple(x.resize_(2).shape)


def set_to_a_tensor(lib):
    x, y = lib.zeros(2), lib.arange(6.0)
    x.set_(y)[0] = 9
    return x, y


def set_to_a_part(lib):
    y = lib.arange(6.0)
    of_tensor = lib.zeros(2).set_(y, 1, (2, 2), (2, 1))
    of_storage = lib.zeros(2).set_(y.untyped_storage(), 2, (2,))
    named = lib.zeros(2).set_(source=y, storage_offset=1, size=(2,), stride=(3,))
    of_tensor[0, 0] = 9
    return of_tensor, of_storage, named, lib.zeros(1).set_(y.untyped_storage()), y


def set_to_nothing(lib):
    x = lib.arange(4.0)
    y = x.detach()
    return x.set_(), y


def set_to_another_dtype(lib):
    return lib.zeros(2).set_(lib.zeros(3, dtype=lib.int64))


def set_before_the_memory(lib):
    return lib.zeros(2).set_(lib.zeros(3).untyped_storage(), -1, (2,))


def set_of_a_leaf(lib):
    return lib.zeros(2, requires_grad=True).set_(lib.ones(3))


def set_beyond_the_memory(lib):
    return lib.zeros(2).set_(lib.zeros(3).untyped_storage(), 7, (2,), (1,))


def with_gradients(lib):
    return lib.zeros(2, requires_grad=True).resize_(3)


def a_word(lib):
    return lib.zeros(2).resize_("a")


def a_float(lib):
    return lib.zeros(2).resize_(2.0)


def no_size(lib):
    return lib.zeros(3).resize_()


def images_of_no_rank(lib):
    return lib.zeros(2).resize_(3, memory_format=lib.channels_last)


SCRIPTS = (
    smaller,
    smaller_and_back,
    detached_one_smaller,
    detached_one_larger,
    a_view_larger,
    a_base_larger,
    transposed,
    transposed_larger,
    expanded,
    same_size,
    channels_last,
    channels_last_alone,
    larger_in_another_order,
    as_another,
    conjugated,
    seen_by_numpy,
    out_within_numpy,
    out_of_a_view,
    out_larger,
    out_in_the_order_of_the_result,
    storage_larger,
    versions,
    of_meta,
    set_to_a_tensor,
    set_to_a_part,
    set_to_nothing,
)
ERRORS = (
    numpy_larger,
    out_for_numpy,
    set_to_another_dtype,
    set_before_the_memory,
    set_of_a_leaf,
    set_beyond_the_memory,
    with_gradients,
    a_word,
    a_float,
    no_size,
    images_of_no_rank,
)


def outcome(lib, script):
    """Everything a user can see of what a script gives, or its error."""

    def seen(x):
        if isinstance(x, lib.Tensor):
            return x.tolist(), tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous()
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of an output that is resized
        try:
            found = script(lib)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__, str(error).splitlines()[0]
    return [seen(x) for x in found] if isinstance(found, tuple) else [seen(found)]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda f: f.__name__)
def test_the_same_in_both(script):
    found = outcome(torchlike, script)
    assert isinstance(found, list), found
    assert found == outcome(torch, script)


@pytest.mark.parametrize("script", ERRORS, ids=lambda f: f.__name__)
def test_the_same_error(script):
    found = outcome(torchlike, script)
    assert isinstance(found, tuple), found
    assert found == outcome(torch, script)


#: What a captured function refuses, and says so: NumPy's memory, and set_, which binds ``.data``.
EAGER_ONLY = {
    "seen_by_numpy",
    "out_within_numpy",
    "set_to_a_tensor",
    "set_to_a_part",
    "set_to_nothing",
}


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if s.__name__ not in EAGER_ONLY], ids=lambda f: f.__name__
)
def test_the_same_jitted(script):
    def in_one(lib):
        return lib.jit(lambda: script(lib))()

    assert outcome(torchlike, in_one) == outcome(torchlike, script)


MAKERS = {
    "zeros": lambda m, out: m.zeros(5, out=out),
    "full": lambda m, out: m.full((5,), 1.0, out=out),
    "eye": lambda m, out: m.eye(3, out=out),
    "rand": lambda m, out: m.rand(5, out=out),
    "randint": lambda m, out: m.randint(5, (5,), out=out),
    "linspace": lambda m, out: m.linspace(0, 1, 5, out=out),
    "logspace": lambda m, out: m.logspace(0, 1, 5, out=out),
    "arange": lambda m, out: m.arange(5, out=out),
    "bernoulli": lambda m, out: m.bernoulli(m.ones(5), out=out),
    "exp": lambda m, out: m.exp(m.ones(5), out=out),
}


@pytest.mark.parametrize("name", MAKERS)
def test_who_warns_of_another_size(name):
    def of(m):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = m.ones(2, 2)
            MAKERS[name](m, out)
        return [w.category for w in caught], out.shape, out.dtype == m.float32

    assert of(torchlike) == of(torch)
