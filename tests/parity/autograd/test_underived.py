"""Functions without a derivative: their results require grad, and backward is an error."""

import pytest

import torchlike

torch = pytest.importorskip("torch")
BOTH = (torch, torchlike)

UNDERIVED = {
    "unique": lambda m, x: m.unique(x),
    "slices": lambda m, x: m.unique(x.reshape(2, 2), dim=1, return_counts=True)[0],
    "runs": lambda m, x: m.unique_consecutive(x),
    "runs of slices": lambda m, x: m.unique_consecutive(x.reshape(2, 2), dim=1),
    "weighted counts": lambda m, x: m.bincount(m.tensor([0, 1, 1, 2]), weights=x),
    "heaviside": lambda m, x: m.heaviside(x, x.detach()),
    "heaviside of a value": lambda m, x: m.heaviside(x.detach(), x),
}
each = pytest.mark.parametrize("name", UNDERIVED)


def given(m, **kwargs):
    return m.tensor([0.5, -1.0, 0.5, 2.0], **kwargs)


@each
def test_backward(name):
    """Beside what has a derivative, its share would be lost without a word."""
    said = []
    for m in BOTH:
        x = given(m, requires_grad=True)
        y = UNDERIVED[name](m, x)
        with pytest.raises((RuntimeError, NotImplementedError)) as error:
            (y.sum() + x.sum()).backward()
        said.append(
            (
                y.requires_grad,
                y.is_leaf,
                y.stride(),
                y.tolist(),
                type(error.value),
                str(error.value),
            )
        )
    assert said[0] == said[1]


@each
def test_without_gradients(name):
    plain = [UNDERIVED[name](m, given(m)) for m in BOTH]
    assert plain[0].tolist() == plain[1].tolist()
    assert plain[0].stride() == plain[1].stride()
    assert not plain[1].requires_grad
    x = given(torchlike, requires_grad=True)
    with torchlike.no_grad():
        assert not UNDERIVED[name](torchlike, x).requires_grad


def test_a_compiled_step_that_does_not_derive_it():
    def step(x):
        return torchlike.heaviside(x.detach(), x.detach()) * x

    x = given(torchlike, requires_grad=True)
    torchlike.jit(step)(x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 1.0, 1.0]
