"""autograd.Function whose outputs are views that forward made. The figures are PyTorch's."""

import pytest

import torchlike as torch

#: exp's gradient of the sum of squares, and of the sum of that one's squares, at `_AT`.
_AT = [[1.0, 2.0], [0.5, -1.0]]
_FIRST = [14.778112, 109.1963, 5.436564, 0.270671]
_SECOND = [873.570401, 47695.327793, 118.224898, 0.29305]


def function(forward, backward):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("F", (torch.autograd.Function,), body).apply


def derivatives(f):
    x = torch.tensor(_AT, dtype=torch.float64, requires_grad=True)
    made = f(x)
    made = made if isinstance(made, tuple) else (made,)
    (first,) = torch.autograd.grad(sum((y**2).sum() for y in made), x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), x)
    return first.flatten().tolist(), second.flatten().tolist()


_VIEWS = {
    "view": (lambda y: y.view(-1), lambda g: g.view(2, 2)),
    "reshape": (lambda y: y.reshape(4, 1), lambda g: g.reshape(2, 2)),
    "t": (lambda y: y.t(), lambda g: g.t()),
    "transpose": (lambda y: y.transpose(0, 1), lambda g: g.transpose(0, 1)),
    "unsqueeze": (lambda y: y.unsqueeze(0), lambda g: g.squeeze(0)),
    "two": (lambda y: y.view(-1).view(2, 2), lambda g: g),
    "detach": (lambda y: y.detach(), lambda g: g),
    "row": (lambda y: y[0], lambda g: torch.stack([g, torch.zeros_like(g)])),
    "column": (lambda y: y[:, 1:], lambda g: torch.cat([torch.zeros_like(g), g], 1)),
}
_REACHED = {"row": [1, 1, 0, 0], "column": [0, 1, 0, 1]}


@pytest.mark.parametrize("by", ["save_for_backward", "attribute"])
@pytest.mark.parametrize("name", _VIEWS)
def test_a_saved_output_that_is_a_view_is_differentiated_through(name, by):
    view, back = _VIEWS[name]

    def forward(ctx, x):
        y = view(x.exp())
        if by == "attribute":
            ctx.y = y
        else:
            ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        return back(g * (ctx.y if by == "attribute" else ctx.saved_tensors[0]))

    reached = _REACHED.get(name, [1, 1, 1, 1])
    first, second = derivatives(function(forward, backward))
    assert first == pytest.approx([a * b for a, b in zip(_FIRST, reached, strict=True)], rel=1e-5)
    assert second == pytest.approx([a * b for a, b in zip(_SECOND, reached, strict=True)], rel=1e-5)


def test_the_output_is_the_object_that_forward_made():
    made = []

    def forward(ctx, x):
        made.append(x.exp().view(-1))
        return made[0]

    x = torch.tensor(_AT, requires_grad=True)
    assert function(forward, lambda ctx, g: g)(x) is made[0]
    assert made[0].requires_grad


def _rows(ctx, ga, gb):
    a, b = ctx.saved_tensors
    return torch.stack([ga * a, gb * b])


@pytest.mark.parametrize(
    "parts",
    [lambda y: (y[0], y[1]), lambda y: y.unbind(0), lambda y: tuple(c[0] for c in y.chunk(2))],
)
def test_several_outputs_that_are_views(parts):
    def forward(ctx, x):
        found = tuple(parts(x.exp()))
        ctx.save_for_backward(*found)
        return found

    first, second = derivatives(function(forward, _rows))
    assert first == pytest.approx(_FIRST, rel=1e-5)
    assert second == pytest.approx(_SECOND, rel=1e-5)


@pytest.mark.parametrize("base_first", [True, False])
def test_an_output_and_a_view_of_it(base_first):
    def forward(ctx, x):
        y = x.exp()
        found = (y, y.view(-1)) if base_first else (y.view(-1), y)
        ctx.save_for_backward(*found)
        return found

    def backward(ctx, g, h):
        y, z = ctx.saved_tensors
        return (g * y).view(2, 2) + (h * z).view(2, 2)

    first, second = derivatives(function(forward, backward))
    assert first == pytest.approx([2 * v for v in _FIRST], rel=1e-5)
    assert second == pytest.approx([4 * v for v in _SECOND], rel=1e-5)


def test_a_view_written_to_in_forward():
    def forward(ctx, x):
        y = x.clone().view(-1)
        y.exp_()
        ctx.save_for_backward(y)
        return y

    def backward(ctx, g):
        return (g * ctx.saved_tensors[0]).view(2, 2)

    first, second = derivatives(function(forward, backward))
    assert first == pytest.approx(_FIRST, rel=1e-5)
    assert second == pytest.approx(_SECOND, rel=1e-5)


class _SetUp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp().view(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.saved_tensors[0]).view(2, 2)


def _penalty(x):
    (first,) = torch.autograd.grad((_SetUp.apply(x) ** 2).sum(), x, create_graph=True)
    return torch.autograd.grad((first**2).sum(), x, create_graph=True)[0]


@pytest.mark.parametrize("compiled", [False, True])
def test_in_three_derivatives_and_compiled(compiled):
    x = torch.tensor(_AT, dtype=torch.float64, requires_grad=True)
    f = torch.compile(_penalty) if compiled else _penalty
    second = f(x)
    assert second.flatten().tolist() == pytest.approx(_SECOND, rel=1e-5)
    if not compiled:
        (third,) = torch.autograd.grad(second.sum(), x)
        wanted = [3494.281602, 190781.311171, 472.89959, 1.172201]
        assert third.flatten().tolist() == pytest.approx(wanted, rel=1e-5)


def test_what_was_saved_but_is_no_output_is_a_constant():
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y.view(-1)

    def backward(ctx, g):
        return g.view(2, 2) * ctx.saved_tensors[0]

    second = derivatives(function(forward, backward))[1]
    assert second == pytest.approx([v / 2 for v in _SECOND], rel=1e-5)
