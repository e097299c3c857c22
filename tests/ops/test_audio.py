"""torchaudio's operators, which its package finds when it loads its compiled library."""

import itertools

import numpy as np
import pytest

import torchlike as torch


@pytest.fixture(autouse=True)
def library():
    torch.ops.load_library("/anywhere/torchaudio/lib/_torchaudio.abi3.so")
    torch.ops.load_library("/anywhere/torchaudio/lib/libtorchaudio.abi3.so")


def test_what_the_package_asks():
    assert torch.ops._torchaudio.is_align_available() is True
    assert torch.ops._torchaudio.cuda_version() is None
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("/anywhere/torchaudio/lib/torchaudio_prefixctc.abi3.so")


@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_filter_by_its_own_past(order):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(2, 3, 9)), rng.normal(size=(3, order)) * 0.3
    padded = np.zeros((2, 3, 9 + order - 1))
    padded[..., : order - 1] = rng.normal(size=(2, 3, order - 1))
    expected = padded.copy()
    for t in range(9):
        past = expected[..., t : t + order - 1]
        expected[..., t + order - 1] = x[..., t] - (past * a[:, :-1]).sum(-1)
    given = torch.tensor(x)
    for run in (
        torch.ops.torchaudio._lfilter_core_loop,
        torch.compile(lambda *t: torch.ops.torchaudio._lfilter_core_loop(*t), fullgraph=True),
    ):
        out = torch.tensor(padded)
        run(given, torch.tensor(a), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)
    assert given.equal(torch.tensor(x))


def test_overdrive():
    rng = np.random.default_rng(0)
    wave, temp = rng.normal(size=(2, 2, 7))
    last_in, last_out = rng.normal(size=(2, 2))
    tensors = [torch.tensor(v) for v in (wave, temp, last_in, last_out, np.zeros((2, 7)))]
    expected = np.zeros((2, 7))
    for i in range(7):
        last_out = temp[:, i] - last_in + 0.995 * last_out
        last_in = temp[:, i]
        expected[:, i] = wave[:, i] * 0.5 + last_out * 0.75
    torch.ops.torchaudio._overdrive_core_loop(*tensors)
    for t, values in zip(tensors[2:], (last_in, last_out, expected), strict=True):
        np.testing.assert_allclose(t.numpy(), values, rtol=1e-12)


def spelled(path, blank):
    """Repeats are one, and blanks nothing."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


@pytest.mark.parametrize("targets", [[1, 2], [2, 2], [1], [1, 1, 2]])
@pytest.mark.parametrize("blank", [0, 3])
def test_the_likeliest_path(targets, blank):
    rng = np.random.default_rng(len(targets) + blank)
    scores = torch.tensor(rng.normal(size=(1, 6, 4))).log_softmax(-1)
    paths = [p for p in itertools.product(range(4), repeat=5) if spelled(p, blank) == targets]
    best = max(paths, key=lambda p: sum(scores[0, t, label].item() for t, label in enumerate(p)))
    given = torch.tensor([targets], dtype=torch.int32)
    lengths = torch.tensor([5]), torch.tensor([len(targets)])
    path, same = torch.ops.torchaudio.forced_align(scores, given, *lengths, blank)
    assert (path.dtype, path.shape) == (torch.int32, (1, 6))
    assert tuple(path[0, :5].tolist()) == best
    assert same.equal(scores)


def test_alignments_that_there_are_not():
    run = torch.ops.torchaudio.forced_align
    scores, lengths = torch.zeros(1, 2, 3), (torch.tensor([2]), torch.tensor([2]))
    with pytest.raises(RuntimeError, match="targets length is too long for CTC"):
        run(scores, torch.tensor([[1, 1]]), *lengths, 0)
    with pytest.raises(RuntimeError, match="batch dimension must be 1"):
        run(scores.repeat(2, 1, 1), torch.tensor([[1, 1]] * 2), *lengths, 0)


def cost(scores, targets, blank):
    """Minus the logarithm of the sum over all orders of blanks and labels, the last a blank."""
    frames, labels = scores.shape[0], len(targets)
    total = -np.inf
    for places in itertools.combinations(range(frames - 1 + labels), labels):
        t = u = 0
        sum_ = 0.0
        for i in range(frames - 1 + labels):
            if i in places:
                sum_, u = sum_ + scores[t, u, targets[u]], u + 1
            else:
                sum_, t = sum_ + scores[t, u, blank], t + 1
        total = np.logaddexp(total, sum_ + scores[t, u, blank])
    return -total


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("fused", [True, False])
def test_transducer_loss(fused):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 4, 3, 5))
    targets, frames, labels = [[1, 2], [3, 1]], [4, 3], [2, 1]
    given = [torch.tensor(v, dtype=torch.int32) for v in (targets, frames, labels)]
    run = torch.ops.torchaudio.rnnt_loss_forward
    costs, gradients = run(torch.tensor(logits), *given, 0, -1.0, fused)

    def expected(x):
        scores = log_softmax(x) if fused else x
        return [cost(scores[b, : frames[b]], targets[b][: labels[b]], 0) for b in range(2)]

    np.testing.assert_allclose(costs.numpy(), expected(logits), rtol=1e-12)
    moved = rng.normal(size=logits.shape)
    slope = (np.sum(expected(logits + 1e-6 * moved)) - np.sum(expected(logits - 1e-6 * moved))) / (
        2e-6
    )
    np.testing.assert_allclose((gradients.numpy() * moved).sum(), slope, rtol=1e-7)
    assert (gradients[1, 3:] == 0).all()
    _, cut = run(torch.tensor(logits), *given, 0, 0.1, fused)
    assert cut.equal(gradients.clamp(-0.1, 0.1))
