"""Twenty steps of training, eager and jitted: the same parameters, buffers and random state.

Every module, every optimizer, and one step with everything in it at once.
"""

import chex
import numpy as np
import pytest
from module_cases import CASES, values_of

import torchlike as torch
from torchlike import nn
from torchlike._core.errors import JitCaptureError

STEPS = 20
#: How many numbers PyTorch draws here depends on the values, so a graph cannot hold it.
REFUSED = {"RReLU", "RReLU-inplace"}


def leaves(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for t in tree for leaf in leaves(t)]
    return [] if tree is None else [tree]


def trained(name, wrap):
    """The state after training a module, behind a scale of its own so that each has a parameter."""
    build, specs = CASES[name]
    torch.manual_seed(0)
    module, scale = build(nn), nn.Parameter(torch.tensor(0.9))
    optimizer = torch.optim.SGD([*module.parameters(), scale], lr=0.01, momentum=0.9)
    rng = np.random.default_rng(0)
    inputs = [torch.from_numpy(values_of(s, rng)) for s in specs]

    def step(*given):
        optimizer.zero_grad()
        scaled = [x * scale if x.dtype is torch.float32 else x for x in given]
        outputs = [o for o in leaves(module(*scaled)) if o.dtype is torch.float32]
        # The gradient of sqrt(1 + o²) is bounded, so no module runs away and carries rounding far.
        loss = sum((o * o + 1).sqrt().mean() for o in outputs) + (scale - 1) ** 2
        loss.backward()
        optimizer.step()
        return loss

    run = wrap(step)
    losses = [run(*inputs).item() for _ in range(STEPS)]
    state = {k: v.detach().numpy() for k, v in module.state_dict().items()}
    return run, {**state, "scale": scale.detach().numpy(), "losses": np.array(losses)}


@pytest.mark.sampled(every=16)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.full] if n.endswith("-batch-first") else [])
        for n in CASES
        if n not in REFUSED
    ],
)
def test_every_module(name):
    _, eager = trained(name, lambda f: f)
    after = torch.get_rng_state()
    run, jitted = trained(name, torch.jit)
    assert torch.equal(torch.get_rng_state(), after)
    # Twenty steps carry rounding of single operations on: 1e-5, and 1e-6 near zero.
    chex.assert_trees_all_close(jitted, eager, rtol=1e-5, atol=1e-6)
    assert run.compiles == 1
    assert np.isfinite(eager["losses"]).all()
    assert eager["losses"][0] != eager["losses"][-1]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_no_graph_can_hold_is_refused(name):
    with pytest.raises(JitCaptureError, match="leaky_relu"):
        trained(name, torch.jit)


class Everything(nn.Module):
    """Batch norm and dropout, two heads of which a step uses one, and a layer that none uses."""

    def __init__(self):
        super().__init__()
        # No bias before the batch norm: its gradient is rounding alone, and Adam makes it a step.
        self.body = nn.Sequential(
            nn.Linear(4, 8, bias=False),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(8, 4),
        )
        self.heads = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
        self.unused = nn.Linear(2, 2)

    def forward(self, x, which):
        return self.heads[which](self.body(x)).squeeze(-1)


#: Programs by (zero_grad's set_to_none, whether the heads take turns).
COMPILES = {
    (True, False): 1,
    # Gradients that are None in the first step and zeros from the second on.
    (False, False): 2,
    # A head's first step makes its optimizer state, which is one more input of the other's program.
    (True, True): 3,
    # And its gradient.
    (False, True): 5,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("set_to_none", "turns"), COMPILES)
def test_a_thousand_steps_with_everything_in_them(set_to_none, turns):
    """A scheduler, dropout, batch norm, clipping, gradients that stay None or come later."""

    def train(wrap, steps):
        torch.manual_seed(0)
        model = Everything()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)

        def step(x, y, which):
            optimizer.zero_grad(set_to_none=set_to_none)
            loss = ((model(x, which) - y) ** 2).mean()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss, norm

        run = wrap(step)
        x = torch.randn(16, 4)
        y = x.sum(1)
        found = []
        for i in range(steps):
            loss, norm = run(x, y, i // 7 % 2 if turns else 0)
            schedule.step()
            found += [loss, norm]
        assert model.unused.weight.grad is None
        state = [t.detach().numpy() for t in model.state_dict().values()]
        return run, [t.item() for t in found], state

    run, losses, _ = train(torch.jit, 1000)
    assert run.compiles == COMPILES[set_to_none, turns]
    assert np.mean(losses[-20::2]) < 0.5 * np.mean(losses[:20:2])
    _, first, state = train(torch.jit, STEPS)
    _, expected, eager_state = train(lambda f: f, STEPS)
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    chex.assert_trees_all_close(state, eager_state, rtol=1e-5, atol=1e-6)
