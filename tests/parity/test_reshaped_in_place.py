"""Views made before t_(), squeeze_() and their kin changed their base's shape, against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


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
