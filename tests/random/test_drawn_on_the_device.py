"""Programs of an accelerator draw their numbers there: nothing of the host's comes in but 16 bytes
a draw, the seed and the offset."""

import subprocess
import sys

#: On a device of the CPU's that stands for a GPU, where captures take the accelerator's way.
STEPS = """
from torchlike._runtime import platforms
platforms.stand_for_gpu()
import torchlike as torch
from torchlike._jit.guards.sources import PerCallValue
from torchlike._runtime.jax_private.equations import subjaxprs

nn, on = torch.nn, {"device": "cuda"}
DRAWS = {
    "rand": lambda x: x + torch.rand(4, 8, **on),
    "dropout": lambda x: nn.functional.dropout(x, 0.5),
    "normal_": lambda x: x + torch.empty(4, 8, **on).normal_(1, 2),
    "randint": lambda x: x + torch.randint(5, (4, 8), **on),
    "randperm": lambda x: x[torch.randperm(4, **on)],
    "poisson, gamma": lambda x: x + torch.poisson(torch._standard_gamma(torch.ones(8, **on))),
}

def all_of(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in subjaxprs(eqn):
            yield from all_of(inner)

model = nn.Linear(8, 8).to("cuda")
optimizer, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(4, 8, **on)

def step(x):
    optimizer.zero_grad()
    drawn = [draw(model(x)) for draw in DRAWS.values()]
    loss = sum(y.square().mean() for y in drawn)
    loss.backward()
    optimizer.step()
    return loss

compiled = torch.jit.jit(step, warmup=0)
before = torch.cuda.get_rng_state().clone()
losses = [compiled(x).item() for _ in range(2)]
assert not torch.equal(before, torch.cuda.get_rng_state())
(program,) = compiled.programs()
called = set(all_of(program.equations()))
assert "dot_general" in called
crossing = {p for p in called if "callback" in p or p in ("infeed", "outfeed", "device_put")}
given = [
    aval.size * aval.dtype.itemsize
    for aval, source in zip(program.avals, program.sources)
    if isinstance(source, PerCallValue)
]
assert not crossing, crossing
# The last of them draws twice, and so does a permutation.
assert given.count(16) == len(DRAWS) + 2 and max(given) <= 16, given
"""


def test_training_steps_take_no_random_number_from_the_host():
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
