"""Several results of one compiled call: memory they share, and gradients from one to another."""

import pytest

import torchlike as torch

W = [1.0, 2.0]


def whole_and_parts(x, w):
    y = x * w
    return y, y[0], y.t()


def parts_alone(x, w):
    y = x * w
    return y[0], y.view(-1), y.detach()


def without_gradients(x, w):
    y = x.clone()
    return y, y[0], y.t()


@pytest.mark.parametrize("body", [whole_and_parts, parts_alone, without_gradients])
def test_a_write_into_a_result_is_the_history_of_those_that_share_its_memory(body):
    def run(call):
        found = []
        for k in range(4):
            w = torch.tensor(W, requires_grad=True)
            a, b, c = call(torch.arange(4.0).reshape(2, 2) + k, w)
            first = a if body is parts_alone else b
            first.mul_(w * 5)
            with torch.no_grad():
                b.add_(1)
            loss = a.sum() + (b * b).sum() + (c * 3).sum()
            loss.backward()
            found += [a.tolist(), b.tolist(), c.tolist(), w.grad.tolist(), a._is_view()]
        return found

    assert run(torch.jit(body)) == run(body)


def test_parts_are_not_written_to():
    f = torch.jit(lambda x, w: (x * w).split(1))
    for k in range(3):
        w = torch.tensor(W, requires_grad=True)
        a, b = f(torch.ones(2) * k, w)
        with pytest.raises(RuntimeError, match="is a view and is being modified"):
            a.mul_(2)
        (a * b).sum().backward()
        assert w.grad.tolist() == [2.0 * k * k, 1.0 * k * k]


def test_views_that_are_not_written_to_are_so_alone_too():
    one_of_several = torch.jit(lambda x, w: (x * w).chunk(2)[0])

    @torch.jit
    def unrecorded(x, w):
        y = x * w
        with torch.no_grad():
            return y[:1]

    for _ in range(3):
        w = torch.tensor(W, requires_grad=True)
        for f in (one_of_several, unrecorded):
            part = f(torch.ones(2), w)
            assert part.requires_grad
            with pytest.raises(RuntimeError, match="is being modified inplace"):
                part.mul_(2)


STATE = torch.tensor(W, requires_grad=True)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: STATE.detach(),
        lambda x: STATE.data,
        lambda x: STATE.detach().requires_grad_(),
        lambda x: x.detach().requires_grad_(),
        lambda x: STATE.detach().view(2, 1).requires_grad_(),
    ],
)
def test_another_name_for_memory_from_outside_is_a_new_object_at_each_call(body):
    """What is written to one, its gradient and its attributes are not the next one's."""

    def run(call):
        with torch.no_grad():
            STATE.copy_(torch.tensor(W))
        for _ in range(3):
            t = call(torch.ones(2))
            yield t.requires_grad, t.grad_fn is None, hasattr(t, "note"), t.tolist()
            t.note = "seen"
            if t.requires_grad:
                (t * 3).sum().backward()
                yield t.grad.tolist()
            else:
                t.mul_(torch.ones(2, requires_grad=True))
            with torch.no_grad():
                t.add_(1)

    assert list(run(torch.jit(body))) == list(run(body))


class Keeping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 2))

    def forward(self, x):
        self.kept = x * 2
        return self.kept[0]


def test_a_view_of_a_buffer_that_is_bound_anew():
    def run(net, call):
        for k in range(3):
            w = torch.tensor(W, requires_grad=True)
            part = call(torch.ones(2, 2) + k)
            part.mul_(w)
            net.kept.sum().backward()
            yield net.kept.tolist(), w.grad.tolist(), part._base is net.kept

    one, other = Keeping(), Keeping()
    assert list(run(one, torch.jit(one))) == list(run(other, other))


# -- a result that another one was computed from ---------------------------------------------------


@torch.jit
def chained(x, w):
    a = x * w
    return a, a.exp(), x + w


def asked_by_grad(a, b):
    return torch.autograd.grad(b.sum(), a, allow_unused=True)


def asked_by_inputs(a, b):
    b.sum().backward(inputs=[a])


def retained(a, b):
    a.retain_grad()
    (a * b).sum().backward()


def hooked(a, b):
    a.register_hook(lambda g: g * 2)
    b.sum().backward()


@pytest.mark.parametrize("ask", [asked_by_grad, asked_by_inputs, retained, hooked])
def test_a_gradient_that_passes_inside_is_refused(ask):
    for _ in range(3):
        a, b, _c = chained(torch.ones(2), torch.tensor(W, requires_grad=True))
        with pytest.raises(NotImplementedError, match="result of a jitted function"):
            ask(a, b)


def test_other_gradients_of_results_are_as_ever():
    w = torch.tensor(W, requires_grad=True)
    seen = []
    a, b, c = chained(torch.ones(2), w)
    b.register_hook(lambda g: seen.append(g.tolist()))
    a.retain_grad()
    c.retain_grad()
    (a * c.detach() + c).sum().backward(retain_graph=True)
    assert a.grad.tolist() == [2.0, 3.0]
    assert c.grad.tolist() == [1.0, 1.0]
    assert not seen
    (g,) = torch.autograd.grad(b.sum() * 2, b, retain_graph=True)
    assert g.tolist() == [2.0, 2.0] == seen.pop()
    (g,) = torch.autograd.grad(a.sum(), a)
    assert g.tolist() == [1.0, 1.0]
