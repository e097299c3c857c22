"""torchlike.optim.swa_utils inside a jitted training step."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def trained(jitted, **options):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    average = AveragedModel(net, **options)
    x, y = torch.randn(8, 3), torch.randn(8, 1)

    def step():
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
        average.update_parameters(net)

    run = torch.jit(step) if jitted else step
    for _ in range(5):
        run()
    if jitted:
        assert run.compiles == 1
    return average


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_buffers": True},
        {"multi_avg_fn": get_ema_multi_avg_fn(0.9)},
        {"avg_fn": lambda a, b, n: a + (b - a) / (n + 2)},
    ],
    ids=["mean", "with buffers", "exponential", "own function"],
)
def test_a_jitted_average_is_the_eager_one(options):
    eager, jitted = trained(False, **options), trained(True, **options)
    assert eager.n_averaged.item() == jitted.n_averaged.item() == 5
    for (name, a), b in zip(eager.state_dict().items(), jitted.state_dict().values(), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)
