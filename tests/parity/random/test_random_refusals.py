"""What the fills refuse: the exception types and the words, against real PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torchlike.random import fills  # noqa: E402
from torchlike.random.engine import Engine  # noqa: E402

F, L, H, U = torch.float32, torch.int64, torch.float16, torch.uint8
NUMPY = {
    dtype: np.dtype(str(dtype).removeprefix("torch."))
    for dtype in (F, L, H, U, torch.bool, torch.int32, torch.uint16, torch.uint64, torch.complex64)
}


def empty(shape, dtype):
    return torch.empty(shape, dtype=dtype)


REFUSED = [
    (lambda t: empty(3, F).uniform_(1, 0), lambda e: fills.uniform(e, (3,), NUMPY[F], 1, 0)),
    (
        lambda t: empty(3, F).uniform_(-1e39, 0),
        lambda e: fills.uniform(e, (3,), NUMPY[F], -1e39, 0),
    ),
    (
        lambda t: empty(3, F).uniform_(0, float("nan")),
        lambda e: fills.uniform(e, (3,), NUMPY[F], 0, float("nan")),
    ),
    (
        lambda t: empty(3, F).uniform_(-3e38, 3e38),
        lambda e: fills.uniform(e, (3,), NUMPY[F], -3e38, 3e38),
    ),
    (lambda t: empty(3, H).uniform_(-7e4, 0), lambda e: fills.uniform(e, (3,), NUMPY[H], -7e4, 0)),
    (lambda t: empty(3, L).uniform_(), lambda e: fills.uniform(e, (3,), NUMPY[L])),
    (lambda t: empty(3, F).normal_(0, -1.5), lambda e: fills.normal(e, (3,), NUMPY[F], 0, -1.5)),
    (lambda t: empty(3, L).normal_(), lambda e: fills.normal(e, (3,), NUMPY[L])),
    (lambda t: torch.randint(5, 3, (2,)), lambda e: fills.randint(e, (2,), NUMPY[L], 5, 3)),
    (lambda t: torch.randint(0, 2**63, (2,)), lambda e: fills.randint(e, (2,), NUMPY[L], 0, 2**63)),
    (
        lambda t: torch.randint(0, 300, (2,), dtype=U),
        lambda e: fills.randint(e, (2,), NUMPY[U], 0, 300),
    ),
    (
        lambda t: torch.randint(-1, 3, (2,), dtype=U),
        lambda e: fills.randint(e, (2,), NUMPY[U], -1, 3),
    ),
    (
        lambda t: torch.randint(0, 70000, (2,), dtype=H),
        lambda e: fills.randint(e, (2,), NUMPY[H], 0, 70000),
    ),
    (
        lambda t: torch.randint(0, 2, (2,), dtype=torch.complex64),
        lambda e: fills.randint(e, (2,), NUMPY[torch.complex64], 0, 2),
    ),
    (
        lambda t: empty(3, torch.uint16).random_(),
        lambda e: fills.random(e, (3,), NUMPY[torch.uint16]),
    ),
    (lambda t: empty(3, H).random_(3000, None), lambda e: fills.random(e, (3,), NUMPY[H], 3000)),
    (
        lambda t: empty(3, torch.uint64).random_(3, None),
        lambda e: fills.random(e, (3,), NUMPY[torch.uint64], 3),
    ),
    (
        lambda t: empty(3, torch.int32).random_(-(2**63), None),
        lambda e: fills.random(e, (3,), NUMPY[torch.int32], -(2**63)),
    ),
    (
        lambda t: empty(3, H).random_(-(2**63), None),
        lambda e: fills.random(e, (3,), NUMPY[H], -(2**63)),
    ),
    (lambda t: torch.randperm(-1), lambda e: fills.randperm(e, -1, NUMPY[L])),
    (lambda t: torch.randperm(300, dtype=U), lambda e: fills.randperm(e, 300, NUMPY[U])),
    (lambda t: torch.randperm(2050, dtype=H), lambda e: fills.randperm(e, 2050, NUMPY[H])),
    (
        lambda t: torch.randperm(2, dtype=torch.bool),
        lambda e: fills.randperm(e, 2, NUMPY[torch.bool]),
    ),
    (lambda t: empty(3, F).bernoulli_(2), lambda e: fills.bernoulli(e, (3,), NUMPY[F], 2)),
    (
        lambda t: empty(3, torch.complex64).bernoulli_(0.5),
        lambda e: fills.bernoulli(e, (3,), NUMPY[torch.complex64], 0.5),
    ),
    (
        lambda t: empty((2, 3), F).bernoulli_(torch.rand(4)),
        lambda e: fills.bernoulli_tensor(e, (2, 3), NUMPY[F], np.zeros(4, np.float32)),
    ),
    (
        lambda t: empty((2, 3), F).bernoulli_(torch.rand(2, 2, 3)),
        lambda e: fills.bernoulli_tensor(e, (2, 3), NUMPY[F], np.zeros((2, 2, 3), np.float32)),
    ),
    (
        lambda t: torch.bernoulli(torch.tensor([1])),
        lambda e: fills.bernoulli_tensor(e, (1,), NUMPY[L], np.ones(1, np.int64)),
    ),
    (lambda t: empty(3, F).exponential_(0), lambda e: fills.exponential(e, (3,), NUMPY[F], 0)),
    (lambda t: empty(3, L).exponential_(), lambda e: fills.exponential(e, (3,), NUMPY[L])),
    (lambda t: empty(3, F).geometric_(1), lambda e: fills.geometric(e, (3,), NUMPY[F], 1)),
    (
        lambda t: empty(3, torch.bool).geometric_(0.5),
        lambda e: fills.geometric(e, (3,), NUMPY[torch.bool], 0.5),
    ),
    (lambda t: empty(3, F).cauchy_(0, -1), lambda e: fills.cauchy(e, (3,), NUMPY[F], 0, -1)),
    (lambda t: empty(3, L).cauchy_(), lambda e: fills.cauchy(e, (3,), NUMPY[L])),
    (lambda t: empty(3, F).log_normal_(0, 0), lambda e: fills.log_normal(e, (3,), NUMPY[F], 0, 0)),
    (lambda t: empty(3, L).log_normal_(), lambda e: fills.log_normal(e, (3,), NUMPY[L])),
    (
        lambda t: torch.multinomial(torch.tensor([1, 2]), 1),
        lambda e: fills.multinomial(e, np.array([1, 2]), 1),
    ),
    (
        lambda t: torch.multinomial(torch.ones(2, 2, 2), 1),
        lambda e: fills.multinomial(e, np.ones((2, 2, 2)), 1),
    ),
    (lambda t: torch.multinomial(torch.ones(3), 4), lambda e: fills.multinomial(e, np.ones(3), 4)),
    (lambda t: torch.multinomial(torch.ones(3), 0), lambda e: fills.multinomial(e, np.ones(3), 0)),
    (
        lambda t: torch.multinomial(torch.zeros(3), 1),
        lambda e: fills.multinomial(e, np.zeros(3), 1),
    ),
    (
        lambda t: torch.multinomial(torch.tensor([1.0, -1]), 1),
        lambda e: fills.multinomial(e, np.array([1.0, -1]), 1),
    ),
    (
        lambda t: torch.multinomial(torch.tensor([1.0, -1]), 2, True),
        lambda e: fills.multinomial(e, np.array([1.0, -1]), 2, True),
    ),
    (
        lambda t: torch.multinomial(torch.tensor([1.0, float("inf")]), 2, True),
        lambda e: fills.multinomial(e, np.array([1.0, np.inf]), 2, True),
    ),
    (
        lambda t: torch.multinomial(torch.ones(2**24 + 1), 1),
        lambda e: fills.multinomial(e, np.ones(2**24 + 1, np.float32), 1),
    ),
    (lambda t: torch.poisson(torch.tensor([-1.0])), lambda e: fills.poisson(e, np.array([-1.0]))),
    (lambda t: torch.poisson(torch.tensor([1])), lambda e: fills.poisson(e, np.array([1]))),
    (
        lambda t: torch.binomial(torch.tensor([1]), torch.tensor([0.5])),
        lambda e: fills.binomial(e, np.array([1]), np.array([0.5], np.float32)),
    ),
    (
        lambda t: torch.binomial(torch.tensor([1.0]), torch.tensor([0.5]).double()),
        lambda e: fills.binomial(e, np.ones(1, np.float32), np.array([0.5])),
    ),
    (
        lambda t: torch.binomial(torch.ones(1, dtype=H), torch.ones(1, dtype=H)),
        lambda e: fills.binomial(e, np.ones(1, np.float16), np.ones(1, np.float16)),
    ),
    (
        lambda t: torch._standard_gamma(torch.tensor([1])),
        lambda e: fills.standard_gamma(e, np.array([1])),
    ),
    (
        lambda t: torch._sample_dirichlet(torch.ones(2, dtype=H)),
        lambda e: fills.dirichlet(e, np.ones(2, np.float16)),
    ),
    (
        lambda t: torch.dropout(torch.ones(3), 1.5, True),
        lambda e: fills.dropout_noise(e, (3,), NUMPY[F], 1.5),
    ),
    (
        lambda t: torch.feature_dropout(torch.ones(3), 0.5, True),
        lambda e: fills.feature_noise_shape((3,)),
    ),
    (
        lambda t: torch.rrelu(torch.ones(3), 0.4, 0.1, True),
        lambda e: fills.rrelu_slopes(e, np.ones(3), 0.4, 0.1),
    ),
    (
        lambda t: torch.rrelu(torch.ones(3), 0.4, float("inf"), True),
        lambda e: fills.rrelu_slopes(e, np.ones(3), 0.4, np.inf),
    ),
    (lambda t: t.manual_seed(1.5), lambda e: e.seed(1.5)),
    (lambda t: t.manual_seed(True), lambda e: e.seed(True)),
    (lambda t: t.manual_seed(2**64), lambda e: e.seed(2**64)),
    (lambda t: t.manual_seed(-(2**63) - 1), lambda e: e.seed(-(2**63) - 1)),
    (lambda t: t.set_state([1]), lambda e: e.set_state([1])),
    (lambda t: t.set_state(torch.zeros(5056)), lambda e: e.set_state(np.zeros(5056))),
    (lambda t: t.set_state(torch.zeros(9, dtype=U)), lambda e: e.set_state(np.zeros(9, np.uint8))),
    (
        lambda t: t.set_state(torch.zeros(5056, dtype=U)),
        lambda e: e.set_state(np.zeros(5056, np.uint8)),
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals(case):
    """The exception type and the first words (PyTorch adds hints after them here and there)."""
    of_torch, of_fills = REFUSED[case]
    with pytest.raises(Exception) as expected:
        of_torch(torch.Generator())
    with pytest.raises(Exception) as got:
        of_fills(Engine())
    assert type(got.value) is type(expected.value)
    assert str(expected.value).startswith(str(got.value))
