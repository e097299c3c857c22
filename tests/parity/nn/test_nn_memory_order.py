"""How results of layers lie in memory, and in which order draws fill it, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from oracle import same  # noqa: E402

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


def alike(theirs, ours):
    assert tuple(ours.stride()) == theirs.stride()
    same(ours, theirs)


def filled(m, *size):
    """The same numbers in both, without a draw."""
    count = 1
    for n in size:
        count *= n
    return (m.arange(float(count)) / count - 0.4).reshape(*size)


# -- recurrent layers ------------------------------------------------------------------------------

#: Whether jitted, kind, layers, dropout, bidirectional; compiled, an RNN is what a GRU is.
LAYERS = [
    (jit, kind, layers, dropout, bidirectional)
    for jit, kinds in ((False, ("LSTM", "GRU", "RNN")), (True, ("LSTM", "GRU")))
    for kind in kinds
    for layers, dropout in ((1, 0.0), (3, 0.5))
    for bidirectional in (False, True)
]


def recurrent(m, jit, kind, layers, dropout, bidirectional):
    """Dropout behind a layer with the batch first, its gradient, and the generator afterwards."""
    m.manual_seed(0)
    layer = getattr(m.nn, kind)(
        4, 6, layers, batch_first=True, dropout=dropout, bidirectional=bidirectional
    )
    x = filled(m, 3, 5, 4).requires_grad_()

    def step(x):
        output, state = layer(x)
        return output, m.nn.functional.dropout(output, 0.5), state

    output, dropped, state = (m.jit(step) if jit else step)(x)
    dropped.square().sum().backward()
    state = state if isinstance(state, tuple) else (state,)
    return [output, dropped, *state, x.grad, layer.weight_ih_l0.grad, m.rand(3)]


@pytest.mark.sampled(every=4, of=lambda p: p["jit"])
@pytest.mark.parametrize(("jit", "kind", "layers", "dropout", "bidirectional"), LAYERS)
def test_recurrent_layers_with_the_batch_first(jit, kind, layers, dropout, bidirectional):
    theirs = recurrent(torch, False, kind, layers, dropout, bidirectional)
    ours = recurrent(torchlike, jit, kind, layers, dropout, bidirectional)
    for a, b in zip(theirs[:-3], ours[:-3], strict=True):
        alike(a, b)
    for a, b in zip(theirs[-3:], ours[-3:], strict=True):
        torch.testing.assert_close(torch.tensor(b.tolist()), a, rtol=1e-4, atol=1e-5)


def test_an_output_with_the_batch_first_has_no_flat_view():
    for m in BOTH:
        output = m.nn.GRU(4, 6, batch_first=True)(m.ones(3, 5, 4))[0]
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            output.view(-1, 6)
        assert m.nn.GRU(4, 6, batch_first=True)(m.ones(5, 4))[0].stride() == (6, 1)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[5, 3, 2], [2, 5, 3]])
def test_padding_and_unpadding(lengths, batch_first):
    def made(m):
        rnn = m.nn.utils.rnn
        x = filled(m, 3, 5, 4) if batch_first else filled(m, 5, 3, 4)
        packed = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
        sorted_ = rnn.PackedSequence(packed.data, packed.batch_sizes)
        return [
            *(
                rnn.pad_packed_sequence(p, batch_first, total_length=n)[0]
                for p in (packed, sorted_)
                for n in (None, 7)
            ),
            *rnn.unpad_sequence(x, m.tensor(lengths), batch_first),
            *rnn.unpack_sequence(packed),
        ]

    for a, b in zip(made(torch), made(torchlike), strict=True):
        alike(a, b)


# -- attention -------------------------------------------------------------------------------------

ORDERS = [(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3), (2, 0, 1, 3), (0, 1, 3, 2), (0, 2, 3, 1)]


def permuted(m, order, *size):
    """A tensor of ``size`` whose dimensions lie in ``order``, slowest first."""
    x = filled(m, *(size[d] for d in order))
    return x.permute(*(order.index(d) for d in range(len(order))))


CASES = {
    "plain": lambda m, q, k: (q, k, k),
    "all": lambda m, q, k: (q, q, q, None, 0.0, True),
    "only the key": lambda m, q, k: (k, q, k),
    "a bool mask": lambda m, q, k: (q, k, k, m.ones(5, 5, dtype=m.bool).tril()),
    "a float mask": lambda m, q, k: (q, k, k, filled(m, 5, 5)),
    "a mask with a gradient": lambda m, q, k: (q, k, k, filled(m, 5, 5).requires_grad_()),
    "other widths": lambda m, q, k: (q, k, filled(m, 2, 3, 5, 6)),
    "other heads": lambda m, q, k: (q, k[:, :1], k[:, :1]),
    "3-D": lambda m, q, k: (q[0], k[0], k[0]),
    "repeated heads": lambda m, q, k: (q[:, :1].expand(2, 3, 5, 4), k, k),
    "every second column": lambda m, q, k: (permuted(m, (0, 2, 1, 3), 2, 3, 5, 8)[..., ::2], k, k),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_attention_lies_as_its_query(name, order):
    def made(m):
        q, k = permuted(m, order, 2, 3, 5, 4), filled(m, 2, 3, 5, 4)
        return m.nn.functional.scaled_dot_product_attention(*CASES[name](m, q, k))

    alike(made(torch), made(torchlike))


def test_attention_with_shared_heads():
    def made(m):
        q, k = permuted(m, (0, 2, 1, 3), 2, 4, 5, 4), filled(m, 2, 2, 5, 4)
        return m.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)

    alike(made(torch), made(torchlike))


def test_dropout_behind_attention():
    def made(m):
        m.manual_seed(0)
        q = permuted(m, (0, 2, 1, 3), 2, 3, 5, 4)
        y = m.nn.functional.scaled_dot_product_attention(q, q, q)
        return m.nn.functional.dropout(y, 0.5)

    alike(made(torch), made(torchlike))
    alike(made(torch), torchlike.jit(lambda: made(torchlike))())


# -- pooling over one dimension --------------------------------------------------------------------

ROWS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]


@pytest.mark.parametrize("size", [(2, 4, 6), (1, 4, 6), (2, 1, 6), (2, 4, 1)])
@pytest.mark.parametrize("order", ROWS)
def test_pooling_rows(order, size):
    def made(m):
        F = m.nn.functional
        x = permuted(m, order, *size)
        recorded = x.detach().requires_grad_()
        return [
            F.avg_pool1d(x, 1),
            F.avg_pool1d(x, 2, 1, 1),
            F.adaptive_avg_pool1d(x, 2),
            F.adaptive_avg_pool1d(x, 1),
            *F.adaptive_max_pool1d(x, 2, return_indices=True),
            F.max_pool1d(x, 1),
            F.max_pool1d(recorded, 1),
            *F.max_pool1d(x, 1, return_indices=True),
            F.avg_pool1d(x[0], 1),
        ]

    for a, b in zip(made(torch), made(torchlike), strict=True):
        alike(a, b)


# -- draws -----------------------------------------------------------------------------------------


def shares(m):
    return m.linspace(0.1, 0.9, 40).view(5, 8)


DRAWS = {
    "one of each row": lambda m: m.multinomial(shares(m).t(), 1),
    "several of each row": lambda m: m.multinomial(shares(m).t(), 3),
    "with replacement": lambda m: m.multinomial(shares(m).t(), 3, True),
    "of every second column": lambda m: m.multinomial(shares(m)[:, ::2], 2),
    "of one row": lambda m: m.multinomial(shares(m)[0].expand(5, 8), 3),
    "Categorical": lambda m: m.distributions.Categorical(shares(m).t()).sample(),
    "one hot": lambda m: m.distributions.OneHotCategorical(shares(m).t()).sample(),
    "bernoulli_ of both": lambda m: m.empty(5, 8).t().bernoulli_(shares(m).t()),
    "bernoulli_ of self": lambda m: m.empty(8, 5).t().bernoulli_(shares(m)),
    "bernoulli_ of p": lambda m: m.empty(8, 5).bernoulli_(shares(m).t()),
    "bernoulli_ in float64": lambda m: m.empty(8, 5).t().bernoulli_(shares(m).double()),
    "bernoulli_ of one p": lambda m: m.empty(8, 5).t().bernoulli_(m.tensor(0.5)),
    "bernoulli_ into columns": lambda m: m.zeros(5, 16)[:, ::2].bernoulli_(shares(m)),
    "trunc_normal_": lambda m: m.nn.init.trunc_normal_(m.empty(5, 8).t()),
    "trunc_normal_ off the middle": lambda m: m.nn.init.trunc_normal_(m.empty(5, 8).t(), a=1, b=3),
    "trunc_normal_ into columns": lambda m: m.nn.init.trunc_normal_(m.zeros(6, 10)[::2, ::2]),
    "trunc_normal_ of images": lambda m: m.nn.init.trunc_normal_(
        m.empty(2, 3, 4, 4).to(memory_format=m.channels_last)
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_follow_memory(name):
    def made(m):
        m.manual_seed(0)
        return DRAWS[name](m)

    alike(made(torch), made(torchlike))


@pytest.mark.parametrize("name", [n for n in DRAWS if n.startswith(("several", "bernoulli_ of"))])
def test_draws_follow_memory_in_a_jitted_function(name):
    torch.manual_seed(0)
    torchlike.manual_seed(0)
    alike(DRAWS[name](torch), torchlike.jit(lambda: DRAWS[name](torchlike))())
