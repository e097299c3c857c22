"""einsum of one operand, which is a view, and with lists of numbers, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

#: Equations and the sizes of their one operand.
VIEWS = [
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ji", (2, 3)),
    ("...->...", (2, 3)),
    ("i...->...i", (2, 3, 4)),
    ("bij->jib", (2, 3, 4)),
    ("...ij->...ji", (2, 3, 4)),
    ("iii->i", (2, 2, 2)),
    ("iji->ij", (2, 3, 2)),
    ("iij->ji", (2, 2, 3)),
    ("i...i->i...", (2, 3, 2)),
    ("ij->ji", (1, 3)),
    ("->", ()),
    ("a b -> b a", (2, 3)),
]


def written_through(t, x, equation):
    """A write to what einsum gives, and the gradient behind it."""
    base = x * 1
    view = t.einsum(equation, base)
    view.mul_(3)
    loss = (base**2).sum() + view.sum()
    (grad,) = t.autograd.grad(loss, (x,))
    return base, grad


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("equation", "size", "jit"),
    [
        pytest.param(*view, jit, marks=[pytest.mark.full] if jit and at % 3 else [])
        for at, view in enumerate(VIEWS)
        for jit in (False, True)
    ],
)
def test_one_operand_is_a_view(equation, size, jit):
    found = []
    for t in (torchlike, torch):
        x = (t.arange(24.0)[: torch.Size(size).numel()] - 3).reshape(size).requires_grad_()
        view = t.einsum(equation, x)
        run = t.jit(written_through) if jit and t is torchlike else written_through
        base, grad = run(t, x, equation)
        found.append((view.stride(), view.shape, view._is_view(), base.tolist(), grad.tolist()))
    assert found[0] == found[1]


LISTS = """
t.einsum(t.ones(2, 3), [0, 1], t.ones(3, 2), [1, 2], [0, 2])
t.einsum(t.ones(2, 3), [0, 1], t.ones(3, 2), [1, 2])
t.einsum(t.ones(2, 3), [..., 1], [1, ...])
t.einsum(t.ones(4, 2, 3), [..., 0, 1], t.ones(4, 3, 2), [..., 1, 2], [..., 0, 2])
t.einsum(t.arange(6.).view(2, 3), [51, 0])
t.einsum(t.arange(6.).view(2, 3), [30, 4])
t.einsum(t.ones(2, 3), [0, 60])
t.einsum(t.ones(2, 3), [0, 1], [-1])
t.einsum(t.ones(2, 3), [0, 1], t.ones(2))
t.einsum(t.ones(2, 3))
t.einsum('ij->i')
t.einsum(t.ones(2, 3), [0, 'a'])
""".strip().splitlines()


@pytest.mark.parametrize("line", LISTS)
def test_lists_of_numbers(line):
    function = source(line)
    own_words = line.endswith(("t.ones(2))", "'a'])"))
    compare(function, exact=True, words=0 if own_words else None)
