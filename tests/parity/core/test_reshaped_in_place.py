"""Views made before t_(), squeeze_() and their kin changed their base's shape, against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")


def of_no_grad(lib, x):
    with lib.no_grad():
        return x[0]


CHANGES = {
    "squeeze_()": lambda x: x.squeeze_(),
    "squeeze_(0)": lambda x: x.squeeze_(0),
    "squeeze_((0,))": lambda x: x.squeeze_((0,)),
    "unsqueeze_(0)": lambda x: x.unsqueeze_(0),
    "t_()": lambda x: x.t_(),
    "transpose_(0, 1)": lambda x: x.transpose_(0, 1),
    "swapaxes_(0, 1)": lambda x: x.swapaxes_(0, 1),
}
VIEWS = {
    "select": lambda lib, x: x.select(0, 0),
    "select and slice": lambda lib, x: x[0][1:],
    "of a detached one": lambda lib, x: x.detach()[0],
    "one of several": lambda lib, x: x.unbind(0)[0],
    "under no_grad": of_no_grad,
}


def outcome(lib, view, change):
    leaf = lib.arange(6.0).reshape(2, 3).requires_grad_()
    x = leaf * 1
    v = view(lib, x)
    change(x)
    seen = [x._version, v._version, x.grad_fn.name()]
    try:
        seen += [v.requires_grad, v.grad_fn is None]
        x.retain_grad()
        (x.sum() + 7 * v.sum()).backward()
        seen += [x.grad.tolist(), leaf.grad.tolist()]
        v.mul_(2)
        x.retain_grad()
        seen += [x.tolist(), x.grad_fn.name().rpartition("::")[2]]
        leaf.grad = None
        (x.sum() + 7 * v.sum()).backward()
        seen += [x.grad.tolist(), leaf.grad.tolist()]
    except RuntimeError as error:
        seen.append(str(error))
    return seen


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_gradients_of_earlier_views_go_through_the_new_shape(view, change):
    assert outcome(torchlike, view, change) == outcome(torch, view, change)


def test_no_gradient_no_history():
    def versions(lib):
        x = lib.zeros(2, 3)
        v = x[0]
        x.t_()
        return x._version, v._version, x.grad_fn

    assert versions(torchlike) == versions(torch) == (1, 1, None)


OTHERS = {
    "t_()": lambda v, p, q: v.t_(),
    "transpose_(0, 1)": lambda v, p, q: v.transpose_(0, 1),
    "squeeze_(1)": lambda v, p, q: v.squeeze_(1),
    "squeeze_(0), which changes nothing": lambda v, p, q: v.squeeze_(0),
    "unsqueeze_(0)": lambda v, p, q: v.unsqueeze_(0),
    "as_strided_()": lambda v, p, q: v.as_strided_([3], [4]),
    "the view between them": lambda v, p, q: p.squeeze_(2),
    "the last view": lambda v, p, q: q.unsqueeze_(0),
    "two": lambda v, p, q: (v.t_(), p.squeeze_(2)),
    "none": lambda v, p, q: None,
}


def strided_twice(lib, change, beside, run=lambda f: f):
    """The gradient of a view by as_strided of another, after a change of the shape of a third."""

    def weighted(t):
        return (t * lib.arange(1.0, t.numel() + 1, dtype=lib.float64).reshape(t.shape)).sum()

    def total(leaf):
        a = leaf * 1
        p = a.as_strided([2, 3, 1], [0, 1, 4], 7)
        v = a[:, 3:4]
        q = p.as_strided([3, 3, 3], [0, 0, 2], 7)
        h, more = q[0], beside(lib, a)
        change(v, p, q)
        return weighted(a) + weighted(p) + weighted(q) + weighted(h) + weighted(more)

    leaf = lib.arange(12.0, dtype=lib.float64).reshape(3, 4).requires_grad_()
    try:
        run(total)(leaf).backward()
    except RuntimeError as error:
        return str(error)
    return leaf.grad.tolist()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("beside", VIEWS.values(), ids=VIEWS)
def test_gradients_of_strided_views_after_another_view_changed_its_shape(beside, change):
    expected = strided_twice(torch, change, beside)
    assert strided_twice(torchlike, change, beside) == expected
    if isinstance(expected, list):
        assert strided_twice(torchlike, change, beside, torchlike.jit) == expected
