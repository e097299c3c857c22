"""Storage: an in-place op works in the same memory where it may, and only there; host buffers are
shared with NumPy both ways."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest

import torchlike as torch


def pointer(t):
    """Where the device array of a tensor's storage lies in memory."""
    return t._storage.cell.unsafe_buffer_pointer()


def ramp():
    """A tensor that alone holds its array, as after any op."""
    return torch.arange(64.0) * 1


# -- donation: in place in the same memory ---------------------------------------------------------

IN_PLACE = {
    "add_": lambda x: x.add_(1),
    "operator": lambda x: x.__imul__(2),
    "add_ tensor": lambda x: x.add_(torch.ones(64)),
    "itself": lambda x: x.mul_(x),
    "fill_": lambda x: x.fill_(3),
    "relu_": lambda x: x.relu_(),
    "index": lambda x: x.__setitem__(5, 1.0),
    "slice": lambda x: x.__setitem__(slice(2, 9), torch.ones(7)),
    "view": lambda x: x.view(8, 8)[2].copy_(torch.ones(8)),
    "transposed view": lambda x: x.view(8, 8).t()[1:3].fill_(4),
    "index tensor": lambda x: x.__setitem__(torch.tensor([1, 2]), 9.0),
    "mask": lambda x: x.__setitem__(torch.arange(64) > 7, 9.0),
    "view with add_": lambda x: x[3:9].add_(5),
}


SAME_MEMORY = (
    "add_",
    "operator",
    "add_ tensor",
    "relu_",
    "index",
    "slice",
    "view",
    "transposed view",
    "index tensor",
)


@pytest.mark.sampled(every=5)
@pytest.mark.usefixtures("compiled_at_once")
@pytest.mark.parametrize("write", [IN_PLACE[k] for k in SAME_MEMORY], ids=SAME_MEMORY)
def test_a_sole_owner_is_written_in_its_own_memory(write):
    x = ramp()
    write(x)  # compiles
    before = pointer(x)
    write(x)
    assert pointer(x) == before


def hold_jax(x):
    return x.jax(), np.asarray


def hold_numpy_of_jax(x):
    return np.asarray(x.jax()), np.asarray


def hold_clone(x):
    return x.clone(), lambda t: np.array(t.tolist())


def hold_detached_clone(x):
    return x.detach().clone(), lambda t: np.array(t.tolist())


def hold_contiguous_copy(x):
    return torch.empty(64).copy_(x), lambda t: np.array(t.tolist())


def hold_written_view(x):
    whole = torch.zeros(2, 64)
    whole[0] = x
    return whole, lambda t: np.array(t[0].tolist())


def hold_array(x):
    return np.array(x), np.asarray


def hold_tensor_of_it(x):
    with pytest.warns(UserWarning, match="To copy construct"):
        copy = torch.tensor(x)
    return copy, lambda t: np.array(t.tolist())


def hold_from_jax(x):
    return torch.from_jax(x.jax()), lambda t: np.array(t.tolist())


def hold_deepcopy(x):
    return copy.deepcopy(x), lambda t: np.array(t.tolist())


def hold_to(x):
    return x.to(torch.float32, copy=True), lambda t: np.array(t.tolist())


def hold_reshaped_copy(x):
    return x.view(8, 8).clone(), lambda t: np.array(t.flatten().tolist())


def hold_nodes_operand(x):
    w = torch.ones(64, requires_grad=True)
    product = (w * x).sum()
    return (w, product), lambda held: np.array(torch.autograd.grad(held[1], held[0])[0].tolist())


def hold_nodes_output(x):
    w = torch.zeros(64, requires_grad=True)
    y = (w + x.clone().mul_(0)).exp()  # the node keeps its output: exp(0) = 1
    loss = y.sum()
    y.detach().mul_(7)
    return (w, loss), lambda held: np.array(torch.autograd.grad(held[1], held[0])[0].tolist())


@pytest.mark.parametrize("write", IN_PLACE.values(), ids=IN_PLACE.keys())
@pytest.mark.parametrize(
    "hold",
    [
        hold_jax,
        hold_numpy_of_jax,
        hold_clone,
        hold_detached_clone,
        hold_contiguous_copy,
        hold_written_view,
        hold_array,
        hold_tensor_of_it,
        hold_from_jax,
        hold_deepcopy,
        hold_to,
        hold_reshaped_copy,
        hold_nodes_operand,
    ],
)
def test_never_in_place_where_something_else_sees_the_array(hold, write):
    x, again = ramp(), ramp()
    held, value = hold(x)
    write(x)
    np.testing.assert_array_equal(value(held), np.arange(64.0))
    write(again)
    np.testing.assert_array_equal(x.tolist(), again.tolist())


def test_a_node_that_keeps_its_output_sees_no_later_write():
    held, value = hold_nodes_output(ramp())
    np.testing.assert_array_equal(value(held), np.ones(64))


@pytest.mark.parametrize("write", IN_PLACE.values(), ids=IN_PLACE.keys())
def test_views_see_every_write(write):
    x = ramp()
    views = [x[3:9], x.view(8, 8).t(), x[...], x.detach(), x.data, x[::2], x.expand(2, 64)]
    for v in views:
        v.sum()  # fills its cache
    write(x)
    now = np.array(x.tolist())
    seen = [now[3:9], now.reshape(8, 8).T, now, now, now, now[::2], np.broadcast_to(now, (2, 64))]
    for v, expected in zip(views, seen, strict=True):
        np.testing.assert_array_equal((v * 1).tolist(), expected)


def test_an_accumulated_gradient_is_the_same_tensor_and_copies_are_safe():
    w = torch.ones(64, requires_grad=True)
    (w * 2).sum().backward()
    grad, held, copied = w.grad, w.grad.jax(), w.grad.clone()
    (w * 2).sum().backward()
    assert w.grad is grad
    assert grad.tolist() == [4.0] * 64
    assert np.asarray(held).tolist() == copied.tolist() == [2.0] * 64


def test_gradients_handed_to_two_leaves_do_not_share_a_write():
    a, b = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert b.grad.tolist() == [1.0] * 4
    given = torch.ones(4)
    (a * 1).backward(given)
    a.grad.zero_()
    assert given.tolist() == [1.0] * 4


def test_a_failing_op_leaves_the_tensor_as_it_was():
    x = ramp()
    x.add_(1)
    with pytest.raises(RuntimeError):
        x.add_(torch.ones(5))
    with pytest.raises(RuntimeError):
        x.view(8, 8)[0].copy_(torch.ones(3))
    with pytest.raises(IndexError):
        x[torch.tensor([99])] = 1.0
    assert x.tolist() == list(range(1, 65))


# -- host buffers ---------------------------------------------------------------------------------

LAYOUTS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "steps": lambda a: a[::2],
    "columns": lambda a: a[:, 1:3],
    "column": lambda a: a[:, 1],
    "both": lambda a: a.T[1:, ::2],
    "one row": lambda a: a[2:3],
    "element": lambda a: a[1, 1:2],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_from_numpy_shares_both_ways_whatever_the_layout(layout):
    buffer = np.arange(24.0).reshape(6, 4)
    a = layout(buffer)
    t = torch.from_numpy(a)
    assert t.stride() == tuple(s // 8 for s in a.strides)
    assert t.data_ptr() == a.__array_interface__["data"][0]
    buffer += 100  # through the array that owns the memory
    np.testing.assert_array_equal(t.tolist(), a)
    np.testing.assert_array_equal((t * 1).tolist(), a)
    t.mul_(2)
    np.testing.assert_array_equal(t.tolist(), a)
    t[0] = -1.0
    assert (a[0] == -1).all()
    t.t().copy_(torch.zeros(tuple(t.t().shape), dtype=torch.float64))
    assert (a == 0).all()
    assert np.shares_memory(t.numpy(), buffer)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t,
        lambda t: t[1],
        lambda t: t[:, ::2],
        lambda t: t.t(),
        lambda t: t.t()[1:],
        lambda t: t.flatten()[3:],
        lambda t: t.diagonal(),
        lambda t: t.unfold(1, 2, 1),
        lambda t: t.as_strided((2, 2), (1, 3), 1),
        lambda t: t.view(6, 4)[2:],
        lambda t: t.unsqueeze(1),
        lambda t: t.expand(2, 4, 6),
    ],
    ids=range(12),
)
def test_numpy_of_a_view_shares_with_its_base(view):
    t = torch.arange(24.0).view(4, 6) * 1
    v = view(t)
    a = v.numpy()
    assert a.strides == tuple(4 * s for s in v.stride())
    np.testing.assert_array_equal(a, v.tolist())
    t.add_(1)  # from the tensor's side
    np.testing.assert_array_equal(a, v.tolist())
    whole = t.numpy()
    assert np.shares_memory(whole, a)
    whole[...] = whole[::-1].copy()  # from NumPy's side
    np.testing.assert_array_equal(a, v.tolist())
    np.testing.assert_array_equal(a, (v * 1).tolist())


def test_numpy_of_a_result_in_another_memory_order():
    t = torch.arange(6.0).view(2, 3).t() + 1
    assert t.stride() == (1, 3)
    a = t.numpy()
    assert a.strides == (4, 12)
    a[0, 1] = 50
    assert t.tolist() == [[1, 50], [2, 5], [3, 6]]
    t[2] = 7.0
    assert a[2].tolist() == [7, 7]
    assert t.t().numpy().tolist() == [[1, 2, 7], [50, 5, 7]]


def test_sharing_goes_on_after_numpy_and_through_other_tensors():
    t = torch.zeros(4)
    v, d = t[1:3], t.detach()
    a = t.numpy()
    v.fill_(2)
    assert a.tolist() == [0, 2, 2, 0]
    a[:] = 5
    assert v.tolist() == [5, 5]
    assert d.tolist() == [5] * 4
    assert (t + v.sum()).tolist() == [15] * 4
    assert t.numpy() is not a
    assert np.shares_memory(t.numpy(), a)


def test_a_buffer_nobody_else_holds_becomes_a_device_cell_again():
    t = torch.arange(4.0)
    a = t.numpy()
    a[0] = 9
    del a
    gc.collect()
    assert (t + 1).tolist() == [10, 2, 3, 4]
    assert t._storage.host is None
    t.add_(1)
    assert t.tolist() == [10, 2, 3, 4]


def test_complex_and_dtype_views_share_with_numpy():
    c = torch.tensor([1 + 2j, 3 + 4j])
    real, imaginary, pairs = c.real, c.imag, torch.view_as_real(c)
    a = c.numpy()
    a *= 2
    assert real.tolist() == [2, 6]
    assert imaginary.tolist() == [4, 8]
    imaginary.zero_()
    assert a.tolist() == [2, 6]
    pairs[0, 1] = 7.0
    assert a[0] == 2 + 7j
    assert imaginary.numpy().tolist() == [7, 0]
    f = torch.ones(2)
    b = f.numpy()
    bits = f.view(torch.int32)
    b[0] = 2.0
    assert bits.tolist() == [0x40000000, 0x3F800000]
    bits.zero_()
    assert b.tolist() == [0, 0]


def test_read_only_and_backward_arrays():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = torch.from_numpy(a)
    assert (t * 2).tolist() == [0, 2, 4]
    with pytest.raises(RuntimeError, match="read-only"):
        t.add_(1)
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.arange(3.0)[::-1])
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        torch.from_numpy([1, 2])


def test_zero_sized_and_zero_dim_arrays():
    assert torch.from_numpy(np.empty((0, 3))).numpy().shape == (0, 3)
    a = np.array(5.0)
    t = torch.from_numpy(a)
    a[...] = 6
    assert t.item() == 6
    t.add_(1)
    assert a == 7


def test_autograd_through_shared_memory():
    a = np.ones(3, np.float32)
    x = torch.from_numpy(a).requires_grad_()
    y = (x * x).sum()
    a[:] = 100  # the node keeps the value of its time
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_in_place_steps_on_a_shared_parameter():
    w = torch.ones(3, requires_grad=True)
    a = w.detach().numpy()
    for _ in range(3):
        w.grad = None
        (w * w).sum().backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.25)
    np.testing.assert_allclose(a, [0.125] * 3)
    np.testing.assert_array_equal(a, w.tolist())


# -- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["deepcopy", "pickle"],
)
def test_tensors_that_share_a_storage_share_its_copy(duplicate):
    x = torch.arange(6.0).view(2, 3)
    row, turned = x[1], x.t()
    x2, row2, turned2 = duplicate([x, row, turned])
    row2.zero_()
    assert x2.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert turned2.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert turned2.stride() == (1, 3)
    assert row2.storage_offset() == 3
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["deepcopy", "pickle"],
)
def test_copies_keep_flags_dtype_and_attributes(duplicate):
    x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    x.note = "kept"
    y = duplicate(x)
    assert (y.dtype, y.requires_grad, y.is_leaf, y.note) == (torch.bfloat16, True, True, "kept")
    shared = torch.from_numpy(np.ones(3))
    made = duplicate(shared)
    made.zero_()
    assert shared.tolist() == [1, 1, 1]


def test_deepcopy_of_a_host_buffer_is_apart():
    a = np.ones(3)
    t = copy.deepcopy(torch.from_numpy(a))
    a[:] = 5
    assert t.tolist() == [1, 1, 1]


def test_subclasses():
    class Named(torch.Tensor):
        pass

    n = Named(torch.ones(2))
    assert type(n) is Named
    assert (n + 1).tolist() == [2, 2]
    assert type(copy.deepcopy(n)) is Named
    assert type(pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2))))) is torch.nn.Parameter
    source = torch.zeros(2)
    Named(source).fill_(4)
    assert source.tolist() == [4, 4]
    made = Named([1.0, 2.0])
    assert type(made) is Named
    assert (made * 2).tolist() == [2, 4]


def test_a_subclass_is_asked():
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    for make in (lambda: Asked([1.0]), lambda: torch.ones(1).as_subclass(Asked)):
        assert make() + 1 == "asked"


# -- other ways to change storage -----------------------------------------------------------------


def test_data_and_set_share_the_other_storage():
    x, y = torch.zeros(3), torch.ones(2)
    x.data = y
    y.mul_(7)
    assert x.tolist() == [7, 7]
    z = torch.zeros(1).set_(y)
    z[0] = 1.0
    assert y.tolist() == [1, 7]


def test_resize_keeps_elements_in_memory_order():
    x = torch.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(2, 3).shape == (2, 3)
    v = torch.arange(6.0).view(2, 3)
    assert v.resize_(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(RuntimeError, match="require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


def test_shared_memory_grows_though_tensors_were_hidden():
    x = torch.arange(4.0)
    d = x.detach()
    gc.freeze()
    assert d.resize_(2, 2).shape == (2, 2)  # geometry alone asks nobody
    assert gc.get_freeze_count()
    d.resize_(6)[0] = 9
    assert not gc.get_freeze_count()
    assert d.shape == (6,)
    assert x.tolist() == [9, 1, 2, 3]


def test_an_abandoned_view_says_so_instead_of_writing_elsewhere():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    v = y[1:]
    y.data = torch.zeros(3)
    with pytest.raises(NotImplementedError, match=r"\.data"):
        v.mul_(3)


def test_libraries_reach_the_bytes_under_a_typed_storage():
    t = torch.arange(3, dtype=torch.int16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = t.storage()
    assert typed._untyped_storage.nbytes() == 6
    assert typed._untyped_storage.data_ptr() == t.data_ptr()
