"""Results of ``vmap`` that are views share memory with what it maps over, as PyTorch's do."""

import pytest

torch = pytest.importorskip("torch")

from tests.parity import oracle  # noqa: E402

#: What the function under vmap gives of each example of size (2, 3).
VIEWS = {
    "select": lambda t: t[0],
    "slice": lambda t: t[:, 1:],
    "stepped": lambda t: t[:, ::2],
    "t": lambda t: t.t(),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "view": lambda t: t.view(1, 2, 3),
    "diagonal": lambda t: t.diagonal(),
    "unfold": lambda t: t.unfold(1, 2, 2),
    "split": lambda t: t.split(1)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "chained": lambda t: t.t()[1:].unsqueeze(0)[..., 1],
    "alias": lambda t: t.view_as(t),
}


@pytest.mark.parametrize(("in_dim", "out_dim"), [(0, 0), (1, 0), (2, 1)])
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_goes_through(view, in_dim, out_dim):
    def written(t):
        size = [2, 3]
        size.insert(in_dim, 4)
        x = t.arange(24.0).reshape(size)
        y = t.vmap(VIEWS[view], in_dims=in_dim, out_dims=out_dim)(x)
        y.mul_(100)
        return x, y, y.stride(), y._is_view()

    oracle.compare(written)


def test_what_is_expanded_shares_memory_without_being_written():
    oracle.compare(lambda t: t.vmap(lambda x: x.expand(2, 3))(t.arange(6.0).reshape(2, 3)).stride())


def test_nested():
    def nested(t):
        x = t.arange(24.0).reshape(2, 3, 4)
        t.vmap(t.vmap(lambda a: a[1:]), in_dims=1)(x).zero_()
        return x

    oracle.compare(nested)


def test_what_is_recorded_keeps_its_gradient():
    def recorded(t):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        t.vmap(lambda a: a[1:] * a[0])(x).sum().backward()
        return x.grad, t.vmap(lambda a: a[1:])(x).requires_grad

    oracle.compare(recorded)


def test_data_is_not_replaced():
    def replaced(t):
        def f(x):
            x.data = t.zeros(3)
            return x

        return t.vmap(f)(t.ones(2, 3))

    oracle.refused(replaced)


@pytest.mark.parametrize("aux", ["a", 3, None])
def test_aux_has_tensors_alone(aux):
    ones = lambda t: t.ones(2)  # noqa: E731
    oracle.refused(lambda t: t.func.grad(lambda x: (x.sum(), aux), has_aux=True)(ones(t)))
    oracle.refused(lambda t: t.func.vjp(lambda x: (x.sin(), aux), ones(t), has_aux=True))
    oracle.refused(lambda t: t.func.jacrev(lambda x: (x.sin(), aux), has_aux=True)(ones(t)))
