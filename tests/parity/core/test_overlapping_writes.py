"""Writing what shares memory with the target: refused where PyTorch refuses it."""

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

CASES = {
    "itself, dense": lambda t, a, i: a.__setitem__(i(0, 1), a),
    "itself, behind an ellipsis": lambda t, a, i: a.__setitem__((..., i(0, 1)), a),
    "a view of its own, not dense": lambda t, a, i: (v := a[:, :2]).__setitem__(i(0, 1), v),
    "a view by its last dimension": lambda t, a, i: (v := a.split(1, 2)[0]).__setitem__(
        (..., i(0)), v
    ),
    "another view with the same elements": lambda t, a, i: a[:, :2].__setitem__(i(0, 1), a[:, :2]),
    "one row of itself, dense": lambda t, a, i: (v := a[:1]).__setitem__(i(0), v),
    "one row of itself, not dense": lambda t, a, i: (v := a.permute(2, 0, 1)[:1]).__setitem__(
        i(0), v
    ),
    "one row by index_put_, not dense": lambda t, a, i: (v := a.permute(2, 0, 1)[:1]).index_put_(
        (i(0),), v
    ),
    "permuted": lambda t, a, i: (v := a.permute(2, 0, 1)).__setitem__(i(0, 1), v),
    "a dense part": lambda t, a, i: a.__setitem__(i(1), a[:1]),
    "by a mask": lambda t, a, i: a.__setitem__(a > -1, a.flatten()),
    "index_put_": lambda t, a, i: a.index_put_((i(0, 1),), a),
    "accumulated": lambda t, a, i: (v := a[:, :2]).index_put_((i(0, 1),), v, accumulate=True),
    "copied onto itself, expanded": lambda t, a, i: (
        a[0, 0].expand(4, -1).copy_(a[0, 0].expand(4, -1))
    ),
    "copied onto itself, not dense": lambda t, a, i: a[:, :2].copy_(a[:, :2]),
    "copied into an expanded view": lambda t, a, i: a[0, 0].expand(4, -1).copy_(a[1, :2].T),
    "copied from its neighbour": lambda t, a, i: a[0, :2].copy_(a[0, 1:]),
    "empty": lambda t, a, i: (v := a[:, :0]).index_put_((i(0, 1),), v),
}


def outcome(framework, case):
    a = framework.arange(12.0).reshape(2, 3, 2)
    try:
        case(framework, a, lambda *indices: framework.tensor(indices))
    except Exception as error:
        return type(error).__name__, str(error)
    return a.tolist()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_as_pytorch(case):
    assert outcome(torchlike, case) == outcome(torch, case)
