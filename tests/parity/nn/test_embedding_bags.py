"""Bags and look-ups at their edges: none, empty ones, rows out of range. Against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

WEIGHT = "w = t.arange(10.).reshape(5, 2); none = t.zeros(0, dtype=t.int64); F = t.nn.functional; "
BAGS = [
    "F.embedding_bag(t.zeros(0, 3, dtype=t.int64), w, mode=mode)",
    "F.embedding_bag(none, w, t.tensor([0, 0]), mode=mode)",
    "F.embedding_bag(none, w, none, mode=mode)",
    "F.embedding_bag(none, w, none, mode=mode, include_last_offset=True)",
    "F.embedding_bag(t.zeros(2, 0, dtype=t.int64), w, mode=mode)",
]
LINES = [
    "F.embedding_bag(t.tensor([1, 2]), w, t.tensor([0]), mode='sum', include_last_offset=True)",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=-5, mode='sum')",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=5)",
    "F.embedding_bag(t.tensor([[0, 1]]), w, padding_idx=-6)",
    "F.embedding(t.tensor([[0, 1]]), w, padding_idx=-6)",
    "t.nn.Embedding(3, 2, padding_idx=7)",
    "t.nn.EmbeddingBag(3, 2, padding_idx=7)",
    "F.embedding_bag(t.tensor([[0, 1]]), w.long())",
]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("line", BAGS)
def test_no_bags_and_empty_bags(line, mode):
    function = source(f"mode = {mode!r}; {WEIGHT}{line}")
    compare(function, exact=True)


@pytest.mark.parametrize("line", LINES)
def test_as_pytorch(line):
    function = source(WEIGHT + line)
    compare(function, exact=True)


def test_no_bags_by_their_maximum():
    """PyTorch 2.13 ends the process here."""
    bags = torchlike.nn.EmbeddingBag(3, 2, mode="max", include_last_offset=True)
    assert bags(torchlike.tensor([1, 2]), torchlike.tensor([0])).shape == (0, 2)


@pytest.mark.parametrize(("rows", "features"), [(0, 0), (3, 0), (3, 2)])
def test_sparse_gradients_of_nothing(rows, features):
    def gradient(t):
        layer = t.nn.Embedding(rows, features, sparse=True)
        layer(t.zeros(0, dtype=t.int64)).sum().backward()
        grad = layer.weight.grad.coalesce()
        return tuple(grad.shape), grad.indices().tolist(), grad.values().tolist()

    assert gradient(torchlike) == gradient(torch)


NUMBERED = "i = t.tensor([0, 3, 1, 1, 4, 0]); o = t.tensor([0, 2, 2, 6]); "
REST = [
    "w, i, o, ",
    "w, i.int(), o.int(), ",
    "w, i.int(), o, ",
    "w.double(), i, o, ",
    "w.half(), i, o, ",
    "w.t().contiguous().t(), i, o, ",
    "w, none, t.tensor([0, 0]), ",
    "w, i, none, ",
    "w, i, o.reshape(2, 2), ",
    "w.reshape(-1), i, o, ",
    "w, i, None, ",
    "w, i.float(), o, ",
    "w, i, t.tensor([0, 8]), ",
    "w.long(), i, o, ",
]


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("tensors", REST)
def test_bags_with_numbered_modes(tensors, mode):
    if tensors == "w, i, none, " and mode == 2:
        pytest.skip("PyTorch 2.13 ends the process")
    function = source(f"{WEIGHT}{NUMBERED}t.embedding_bag({tensors}mode={mode})")
    compare(function, exact=True)


@pytest.mark.parametrize(
    "line",
    [
        *(
            f"t.embedding_bag(w, i, o, False, {mode}, False, None, {last}, {padding})"
            for mode in (0, 1, 2)
            for last in (False, True)
            for padding in (None, 1, -5)
            if mode or not last
        ),
        # How many sizes there are for sums depends in PyTorch on whether the weight requires grad.
        "t.embedding_bag(w, i, o, include_last_offset=True)[0]",
        "t.embedding_bag(w, i, o, per_sample_weights=w.flatten()[:6])",
        "t.embedding_bag(w, i, o, per_sample_weights=t.ones(12)[::2])",
        "t.embedding_bag(w, i, o, per_sample_weights=t.ones(6).double())",
        "t.embedding_bag(w, i, o, mode=1, per_sample_weights=t.ones(6))",
        "t.embedding_bag(w, i, o, False, 0, False, None, False, 7)",
        "t.embedding_bag(w, i + 3, o)",
        "t.embedding_bag(w, i, o, mode=3)",
        "t.embedding_bag(w, i, o, mode='sum')",
        "t.embedding_bag(w, i, o, mode=True)",
        "t.embedding_bag(w, i[None, None], o)",
        "t.embedding_bag(w, i, none, include_last_offset=True)",
        "[x.shape for x in t.embedding_bag(*(x.to('meta') for x in (w, i, o)), mode=2)]",
    ],
)
def test_options_of_numbered_bags(line):
    function = source(f"{WEIGHT}{NUMBERED}{line}")
    compare(function, exact=True)


@pytest.mark.parametrize(
    "options",
    ["mode=0", "mode=1", "mode=2", "mode=0, sparse=True", "mode=2, scale_grad_by_freq=True"],
)
def test_gradients_of_numbered_bags(options):
    function = source(
        f"{WEIGHT}{NUMBERED}w.requires_grad_(); b = t.embedding_bag(w, i, o, {options}); "
        "[x.requires_grad for x in b], t.autograd.grad((b[0] * b[0]).sum(), w)[0].to_dense()"
    )
    compare(function, exact=True, words=0)


def test_what_numbered_bags_refuse():
    w, i = torchlike.ones(3, 2, requires_grad=True), torchlike.tensor([0, 1])
    with pytest.raises(NotImplementedError, match="leave sparse=True out"):
        torchlike.embedding_bag(w, i, torchlike.tensor([0]), mode=2, sparse=True)
    with pytest.raises(NotImplementedError, match="flatten"):
        torchlike.embedding_bag(w, i[None], torchlike.tensor([0]))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_numbered_bags_compiled(mode):
    def bags(w, i, o):
        return torchlike.embedding_bag(w, i, o, mode=mode)

    w = torchlike.arange(10.0).reshape(5, 2)
    given = w, torchlike.tensor([0, 3, 1, 1, 4, 0]), torchlike.tensor([0, 2, 2, 6])
    eager, compiled = bags(*given), torchlike.jit(bags)(*given)
    assert [x.tolist() for x in compiled] == [x.tolist() for x in eager]
