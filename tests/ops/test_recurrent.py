"""Recurrent networks: sequences are repeated cells; packed ones are their sequences."""

import numpy as np
import pytest

import torchlike as torch

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def weights(kind, inputs, hidden, directions=1):
    rng = np.random.default_rng(0)
    g = GATES[kind]
    shapes = [(g * hidden, inputs), (g * hidden, hidden), (g * hidden,), (g * hidden,)]
    return [torch.tensor(0.5 * rng.standard_normal(s, np.float32)) for s in shapes * directions]


def sample(*shape):
    return torch.tensor(np.random.default_rng(1).standard_normal(shape, np.float32))


@pytest.mark.parametrize("kind", GATES)
def test_a_sequence_is_its_cell_repeated(kind):
    x, w = sample(3, 2, 2), weights(kind, 2, 3)
    zero = torch.zeros(1, 2, 3)
    hx = (zero, zero) if kind == "lstm" else zero
    out, *last = getattr(torch, kind)(x, hx, w, True, 1, 0.0, False, False, False)
    cell = getattr(torch, f"{kind}_cell")
    state = (zero[0], zero[0]) if kind == "lstm" else zero[0]
    for t in range(3):
        state = cell(x[t], state, *w)
        h = state[0] if kind == "lstm" else state
        np.testing.assert_allclose(out[t].numpy(), h.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last[0][0].numpy(), h.numpy(), rtol=1e-5, atol=1e-6)


def test_packed_rows_are_each_sequence_alone():
    w = weights("gru", 2, 3, directions=2)
    long, short = sample(4, 2), sample(2, 2)
    rows = torch.stack([long[0], short[0], long[1], short[1], long[2], long[3]])
    sizes = torch.tensor([2, 2, 1, 1])
    out, last = torch.gru(rows, sizes, torch.zeros(2, 2, 3), w, True, 1, 0.0, False, True)
    for column, (sequence, places) in enumerate(((long, [0, 2, 4, 5]), (short, [1, 3]))):
        alone, end = torch.gru(
            sequence[:, None], torch.zeros(2, 1, 3), w, True, 1, 0.0, False, True, False
        )
        np.testing.assert_allclose(out.numpy()[places], alone[:, 0].numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last[:, column].numpy(), end[:, 0].numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_that_do_not_fit_are_refused():
    w = weights("lstm", 2, 3)
    zero = torch.zeros(1, 2, 3)
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 5, 3\)"):
        torch.lstm(sample(4, 5, 2), (zero, zero), w, True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 5 expected 2"):
        torch.lstm_cell(sample(2, 5), (zero[0], zero[0]), *w)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("kind", GATES)
def test_gradients_are_those_of_the_repeated_cell(kind, biased, run):
    x, state, w = sample(4, 2, 2), sample(1, 2, 3), weights(kind, 2, 3)[: 4 if biased else 2]
    leaves = [x, state, *w]

    def of_sequence(x, state, *w):
        hx = (state, state) if kind == "lstm" else state
        sequence = getattr(torch, kind)
        return sequence(x, hx, list(w), biased, 1, 0.0, False, False, False)[0]

    def of_cells(x, state, *w):
        h = (state[0], state[0]) if kind == "lstm" else state[0]
        found = []
        for x_t in x:
            h = getattr(torch, f"{kind}_cell")(x_t, h, *w)
            found.append(h[0] if kind == "lstm" else h)
        return torch.stack(found)

    def gradients(f, *leaves):
        leaves = [t.detach().requires_grad_() for t in leaves]
        out = f(*leaves)
        return torch.autograd.grad((out * out.detach().cos()).sum(), leaves)

    found = run(lambda *leaves: gradients(of_sequence, *leaves), *leaves)
    for a, b in zip(found, gradients(of_cells, *leaves), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=2e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_second_derivatives_of_packed_sequences_both_ways(kind):
    sizes, w = torch.tensor([2, 2, 1]), [t.double() for t in weights(kind, 2, 2, directions=2)]
    leaves = [sample(5, 2).double(), sample(2, 2, 2).double(), *w]
    leaves = [t.requires_grad_() for t in leaves]

    def run(x, state, *w):
        hx = (state, state) if kind == "lstm" else state
        return getattr(torch, kind)(x, sizes, hx, list(w), True, 1, 0.0, False, True)[0]

    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)
