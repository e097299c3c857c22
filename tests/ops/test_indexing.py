"""Index tensors: what is gathered, in which memory order, and how lists are read."""

import pytest

import torchlike as torch
from torchlike._ops.indexing import indexing
from torchlike._ops.indexing.plain import view_of

INDEX = torch.tensor([0, 1])
#: Strides of x[index] for x of shape (5, 4, 3) made by zeros(3, 4, 5).permute(2, 1, 0), as PyTorch
#: has them.
ORDER = {
    "first": (INDEX, (12, 1, 4)),
    "middle": ((slice(None), INDEX), (1, 5, 10)),
    "last": ((..., INDEX), (2, 10, 1)),
    "matrix": (torch.tensor([[0, 1], [1, 2]]), (24, 12, 1, 4)),
    "transposed matrix": (torch.tensor([[0, 1], [1, 2], [0, 0]]).t(), (12, 24, 1, 4)),
    "pair": ((INDEX, INDEX), (3, 1)),
    "separated": ((INDEX, slice(None), INDEX), (4, 1)),
    "new dimension": ((None, INDEX), (24, 12, 1, 4)),
    "new dimension between": ((slice(None), None, INDEX), (1, 30, 5, 10)),
}


@pytest.mark.parametrize(("index", "stride"), ORDER.values(), ids=ORDER.keys())
def test_memory_order_of_what_is_gathered(index, stride):
    x = torch.arange(60.0).view(3, 4, 5).permute(2, 1, 0)
    found = x[index]
    assert found.stride() == stride
    assert found.tolist() == x.contiguous()[index].tolist()


def test_a_gather_from_a_row_major_tensor_is_row_major():
    assert torch.zeros(3, 4)[INDEX].stride() == (4, 1)
    assert torch.zeros(3, 4)[:, INDEX].stride() == (2, 1)


def test_a_list_holding_more_than_numbers_is_a_tuple_with_a_warning():
    x = torch.arange(12.0).view(3, 4)
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[[0, 1], [1, 2]]].tolist() == [1, 6]
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert x[[slice(None), 0]].tolist() == [0, 4, 8]
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        x[[[0, 1], [1, 2]]] = 7.0
    assert x.tolist() == [[0, 7, 2, 3], [4, 5, 7, 7], [8, 9, 10, 11]]
    assert x[[0, 1]].shape == (2, 4)


def test_index_put_by_a_mask_on_meta_keeps_the_shape_and_checks_the_mask():
    x = torch.zeros(3, 4, device="meta")
    mask = torch.zeros(3, dtype=torch.bool, device="meta")
    made = x.index_put((mask,), torch.ones(2, 4, device="meta"))
    assert made.is_meta
    assert made.shape == (3, 4)
    with pytest.raises(IndexError, match="shape of the mask"):
        x.index_put(
            (torch.zeros(2, dtype=torch.bool, device="meta"),), torch.ones((), device="meta")
        )


def test_what_is_the_whole_is_seen_by_what_is_written():
    """PyTorch's node of ``x[..., 1:]`` of an empty dimension is a slice, of ``x[..., 0:]`` none."""
    x = torch.zeros(2, 0, requires_grad=True)
    parts = {"1:": x[..., 1:], ":-1": x[..., :-1], "0:": x[..., 0:], ":9": x[..., :9]}
    names = {k: v.grad_fn.name() for k, v in parts.items()}
    assert names == {
        "1:": "SliceBackward0",
        ":-1": "SliceBackward0",
        "0:": "AliasBackward0",
        ":9": "AliasBackward0",
    }


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_index_put_at_0_dim_indices_alone(wrap):
    def body(x, v):
        y = x.index_put((torch.tensor(1), torch.tensor(2)), v)
        y = y.index_put_((torch.tensor(0),), torch.tensor([1.0, 2.0, 3.0]), accumulate=True)
        (y * torch.arange(6.0).view(2, 3)).sum().backward()
        return y.detach(), x.grad, v.grad

    x, v = torch.ones(2, 3, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    y, dx, dv = wrap(body)(x, v)
    assert y.tolist() == [[2, 3, 4], [1, 1, 5]]
    assert dx.tolist() == [[0, 1, 2], [3, 4, 0]]
    assert dv.item() == 5


def test_a_write_of_which_nothing_is_recorded_makes_no_view_for_autograd(monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("a view with a place in the history was made")

    monkeypatch.setattr(indexing, "select", refused)
    monkeypatch.setattr(indexing, "sliced", refused)
    x = torch.zeros(2, 3)
    x[0] = 1.0
    x[1, 1:] = torch.tensor([2.0, 3.0])
    x.data[0, 0] = 5.0
    assert x.tolist() == [[5.0, 1.0, 1.0], [0.0, 2.0, 3.0]]
    assert x._version == 3
    with pytest.raises(AssertionError, match="place in the history"):
        x[0] = torch.ones(3, requires_grad=True)
    recorded = torch.zeros(2, requires_grad=True) * 2
    with pytest.raises(AssertionError, match="place in the history"):
        recorded[0] = 1.0
    with torch.no_grad():
        recorded[0] = 1.0
    assert recorded.tolist() == [1.0, 0.0]


PLAIN = [
    slice(1, None),
    (slice(None), slice(None), slice(None, 2)),
    (Ellipsis, -1, slice(-2, None)),
    (1, Ellipsis, slice(3, 1)),
    (0, slice(-9, 9), 2),
    (Ellipsis, 1),
]


@pytest.mark.parametrize("item", PLAIN, ids=str)
def test_a_plain_index_is_taken_apart_as_any_other(item, monkeypatch):
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    quick = view_of(x, item)
    monkeypatch.setattr(indexing, "view_of", lambda x, item: None)
    general = x[item]
    assert (quick.shape, quick.stride()) == (general.shape, general.stride())
    assert quick.storage_offset() == general.storage_offset()
    assert quick.tolist() == general.tolist()
    assert quick.grad_fn.name() == general.grad_fn.name()


@pytest.mark.parametrize(
    "item",
    [None, True, Ellipsis, slice(None), (0, 0, 0, 0), slice(0, 2, 2), (2,), [0], ()],
    ids=str,
)
def test_what_is_no_plain_index_goes_the_general_way(item):
    assert view_of(torch.zeros(2, 3, 4), item) is None
