"""The engine: order, accumulation, freeing, depth, higher derivatives, in-place histories."""

import gc
import sys
import weakref

import pytest

import torchlike as torch


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def test_gradients_accumulate_in_the_same_tensor():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5, 7]
    x.grad = None
    x.sum().backward()
    assert x.grad is not first
    assert first.tolist() == [5, 7]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "op",
    [lambda y: y + 1, lambda y: y.view(1, 2).view(2), lambda y: y.add_(1)],
    ids=["add", "view", "add_"],
)
def test_a_chain_of_20000_ops_needs_no_recursion(op):
    x = leaf(1.0, 2.0)
    y = x * 1
    limit = sys.getrecursionlimit()
    for _ in range(20_000):
        y = op(y)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    node = weakref.ref(y.grad_fn)
    del y  # frees a chain of as many nodes
    gc.collect()
    assert node() is None
    assert sys.getrecursionlimit() == limit


def test_a_chain_that_never_ran_backward_is_freed_without_recursion():
    x = leaf(1.0)
    y = x * 1
    for _ in range(20_000):
        y = y * 1
    del y
    assert x.tolist() == [1]


def test_each_node_runs_once_however_many_paths_lead_to_it():
    x = leaf(1.0)
    calls = []
    y = x
    for _ in range(30):  # 2**30 paths
        y = y + y
        y.register_hook(lambda g: calls.append(1))
    y.backward(torch.ones(1))
    assert len(calls) == 30
    assert x.grad.item() == 2.0**30


def test_graphs_hold_no_cycles():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * x).tanh()
        y[0] = 3.0
        loss = (y.view(2, 1) * y).sum()
        references = [weakref.ref(o) for o in (y, loss, y.grad_fn, loss.grad_fn)]
        loss.backward()
        del y, loss
        assert [r() for r in references] == [None] * 4
        leaf_reference = weakref.ref(x)
        del x
        assert leaf_reference() is None
    finally:
        gc.enable()


def test_backward_frees_what_nodes_saved():
    x = leaf(1.0, 2.0)
    kept = x * 2
    array = weakref.ref(kept.jax())
    loss = (kept * kept).sum()
    loss.backward()
    del kept
    gc.collect()
    assert array() is None
    assert loss.item() == 20


def test_second_backward_and_retain_graph():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = x.sum()  # saves nothing
    z.backward()
    z.backward()


def test_derivatives_up_to_the_fourth():
    x = leaf(2.0)
    y = x**4
    expected = (32, 48, 48, 24)
    for value in expected:
        (y,) = torch.autograd.grad(y, x, torch.ones(1), create_graph=True)
        assert y.item() == value


def test_a_gradient_of_a_gradient_through_an_overwritten_view():
    x = leaf(1.0, 2.0, 3.0)
    y = x**3
    y[1:].mul_(y[:1].detach() + 1)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [3, 24, 54]
    g.sum().backward()
    assert x.grad.tolist() == [6, 24, 36]


def test_gradients_meet_in_float64_leaves_from_float32_ops():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    (x * w).sum().backward()
    assert x.grad.dtype is torch.float64
    assert w.grad.dtype is torch.float32


# -- in-place --------------------------------------------------------------------------------------


def test_the_overwritten_part_has_no_gradient_and_the_new_one_has():
    x, w = leaf(1.0, 2.0, 3.0), leaf(10.0)
    y = x * 2
    y[1:2] = w
    (y * y).sum().backward()
    assert x.grad.tolist() == [8, 0, 24]
    assert w.grad.tolist() == [20]


def test_writes_through_a_view_of_a_view_reach_base_and_siblings():
    x = torch.arange(6.0).requires_grad_()
    y = (x * 1).view(2, 3)
    column, row = y.t()[1], y[1]
    column.mul_(10)
    assert row.tolist() == [3, 40, 5]
    (row * row).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 6, 800, 10]


def test_a_write_after_use_does_not_change_an_earlier_gradient():
    # PyTorch refuses ("modified by an inplace operation"); the recorded value is the right one.
    x = leaf(3.0)
    y = x * 2
    z = y * y
    y.zero_()
    z.backward(torch.ones(1))
    assert x.grad.item() == 24


def test_a_buffer_filled_row_by_row():
    x = leaf(1.0, 2.0)
    buffer = torch.zeros(3, 2)
    for i in range(3):
        buffer[i] = x * (i + 1)
    (buffer * torch.tensor([[1.0], [10.0], [100.0]])).sum().backward()
    assert x.grad.tolist() == [321, 321]


def test_index_put_and_masks():
    x, v = torch.arange(4.0).requires_grad_(), leaf(7.0, 8.0)
    y = x * 1
    y[torch.tensor([0, 3])] = v
    y[torch.tensor([False, True, False, False])] = 5.0
    y.masked_fill_(torch.tensor([False, False, False, True]), 0.0)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 0]
    assert v.grad.tolist() == [1, 0]


def test_in_place_geometry_keeps_views_and_history():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = x * 1
    row = y[0]
    y.t_()
    y[0] *= 10  # the first column of what it was
    assert row.tolist() == [0, 1, 2]
    y[1] *= 3
    assert row.tolist() == [0, 3, 2]
    (row * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [[10, 30, 100], [0, 0, 0]]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.unsqueeze_(0)
    with torch.no_grad():
        x.unsqueeze_(0)
    assert x.shape == (1, 2, 3)
    assert x.is_leaf


def test_as_strided_gives_its_gradient_to_the_tensor_it_was_called_on():
    x = torch.arange(6.0).requires_grad_()
    y = x * 1
    y.retain_grad()
    y.as_strided((2, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 1, 0, 0, 0]
    assert y.grad.tolist() == [1, 2, 1, 0, 0, 0]


# -- where the gradient goes ----------------------------------------------------------------------


def test_inputs_of_backward():
    x = leaf(1.0, 2.0)
    y = x * 2
    (y * y).sum().backward(inputs=y)
    assert x.grad is None
    assert y.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        x.sum().backward(inputs=[])


def test_arguments_of_grad():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    y = x * 2
    grads = torch.autograd.grad([y.sum(), y], [x, y], [None, torch.ones(2)])
    assert [g.tolist() for g in grads] == [[4, 4], [2, 2]]
    assert torch.autograd.grad(x.sum(), [unused], allow_unused=True) == (None,)
    (zeros,) = torch.autograd.grad(x.sum(), unused, materialize_grads=True)
    assert zeros.tolist() == [0]
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        torch.autograd.grad(x.sum(), [x, unused])
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(x.sum(), torch.ones(1))
    with pytest.raises(ValueError, match="allow_unused"):
        torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)
    assert x.grad is None


def test_the_grad_of_a_non_leaf_warns_unless_retained():
    x = leaf(1.0)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None
    y.backward(torch.ones(1))
    assert y.grad.item() == 1
    assert x.detach().grad is None
    assert (x.detach() * 2).grad is None


def test_a_leaf_switched_off_receives_nothing():
    x = leaf(1.0)
    y = x * 2
    x.requires_grad_(False)
    y.backward(torch.ones(1))
    assert x.grad is None


def test_views_of_a_tensor_that_becomes_a_leaf_with_grad():
    x = torch.ones(3)
    v = x[0]
    x.requires_grad_()
    assert v.requires_grad
    assert v.is_leaf
    assert x[0].grad_fn is not None
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v.add_(1)


@pytest.mark.parametrize("combine", [torch.add, lambda a, b: a - (-b), lambda a, b: (a + 1) + b])
def test_a_gradient_that_is_passed_on_is_nobodys_alone(combine):
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    combine(a, b).backward(torch.tensor([1.0, 2.0, 3.0]))
    if combine is torch.add:
        assert a.grad._value_now() is b.grad._value_now()  # nothing was computed
    a.grad.mul_(10)
    assert a.grad.tolist() == [10, 20, 30]
    assert b.grad.tolist() == [1, 2, 3]


@pytest.mark.parametrize("other", [torch.ones(3), torch.ones(2, 3), torch.ones(2, 3).double(), 2.0])
def test_a_gradient_that_is_not_passed_on_has_the_operands_shape_and_dtype(other):
    x = torch.ones(2, 3, requires_grad=True)
    if isinstance(other, torch.Tensor):
        other.requires_grad_()
    y = torch.add(x, other, alpha=3)
    y.backward(torch.ones_like(y))
    assert x.grad.tolist() == torch.ones(2, 3).tolist()
    assert x.grad.dtype is torch.float32
    if isinstance(other, torch.Tensor):
        assert (other.grad.shape, other.grad.dtype) == (other.shape, other.dtype)
        assert other.grad.unique().tolist() == [6.0 if other.dim() == 1 else 3.0]
