"""On an accelerator calls are deferred by themselves, so that a step is a few programs."""

import json
import subprocess
import sys
import time

import jax
import pytest

from torchlike._extensions.deferred.policy import OnAccelerators
from torchlike._runtime import progress

_SCRIPT = """
import json, logging, sys
from torchlike._runtime import platforms
platforms.stand_for_gpu()
import jax
import torchlike as torch
from torchlike._core import modes
from torchlike.nn import functional as F

compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **__: event.endswith("backend_compile_duration") and compiled.append(event))

def train(seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(7, 3)
    ).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 5).to("cuda"), torch.tensor([0, 1, 2, 0], device="cuda")
    losses, before = [], len(compiled)
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, len(compiled) - before

found = {}
with torch.deferred(False):
    found["at once"] = train(0)
    found["kept at once"] = modes.current.queue is None
torch.ones(3) + torch.ones(3)
found["cpu"] = modes.current.queue is None
jax.clear_caches()
found["deferred"] = train(0)
queue = modes.current.queue
found["policy"] = type(queue.policy).__name__
found["again"] = train(0)
a = torch.ones(3, device="cuda")
b = (a + a).to("cuda") + torch.ones(3, device="cuda")
found["devices"] = str(b.device), b.cpu().tolist()
try:
    b + torch.ones(3)
except RuntimeError as error:
    found["mixed"] = str(error)[:48]
# Steps that all differ: each call is compiled once more at most.
before = len(compiled)
for turn in range(24):
    x = torch.full((4,), float(turn), device="cuda")
    for bit in range(5):
        x = x.sin() if turn >> bit & 1 else x.cos()
    x.sum().item()
found["variants"] = len(compiled) - before


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(7, 4)
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.5)  # dropout of transposed memory
        self.body = torch.nn.TransformerEncoder(layer, 2)  # of copies, whose weights are equal

    def forward(self, x):
        x = self.body(self.embed(x))
        return x * torch.rand(x.shape[:1], device=x.device)[:, None, None]

def words():
    torch.manual_seed(0)
    model = Words().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    text = torch.randint(7, (2, 6)).to("cuda")
    losses, before = [], len(compiled)
    for _ in range(3):
        optimizer.zero_grad()
        out = model(text[:, :-1])  # a view of an array, read first
        loss = out.square().mean() + text[:, 1:].float().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, len(compiled) - before

found["words"] = words()
with torch.deferred(False):
    found["words at once"] = words()
# Weights of one size share a program: each draw is a piece of its own.
before = len(compiled)
torch.set_default_device("cuda")
torch.nn.Sequential(*[torch.nn.Linear(6, 6) for _ in range(3)])[2].bias.sum().item()
found["made"] = len(compiled) - before
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_steps_are_a_few_programs_with_the_same_numbers(found):
    losses, compiled = found["at once"]
    deferred, fewer = found["deferred"]
    assert deferred == pytest.approx(losses, rel=1e-5)
    assert compiled > 10
    assert fewer <= 5
    assert found["policy"] == "OnAccelerators"
    assert found["again"][0] == deferred
    assert found["again"][1] <= 2


def test_what_is_said_holds_and_the_cpu_is_not_meant(found):
    assert found["kept at once"]
    assert found["cpu"]


def test_devices_are_as_at_once(found):
    assert found["devices"] == ["cuda:0", [3.0, 3.0, 3.0]]
    assert found["mixed"] == "Expected all tensors to be on the same device, b"


def test_chains_that_all_differ_are_not_all_compiled(found):
    assert found["variants"] <= 8 + 8


def test_a_step_that_slices_and_draws_is_one_program(found):
    losses, compiled = found["words"]
    assert losses == pytest.approx(found["words at once"][0], rel=1e-5)
    assert compiled == 2  # indices are looked at before they are used: one for their slice


def test_weights_of_one_size_share_a_program(found):
    assert found["made"] == 3  # weights, biases, the sum


class _Piece:
    kind, line = ("sin", "cos"), "train.py:3"

    def __init__(self, new, runs, seconds=0.0):
        self.new, self.runs, self.seconds = new, runs, seconds

    def new_calls(self):
        return self.new

    def jitted(self, inputs, **options):
        time.sleep(self.seconds)
        return jax.jit(lambda: 1)


def test_variants_wait_the_longer_the_more_there_are():
    policy = OnAccelerators()

    def is_compiled(new, runs):
        return policy.program(_Piece(new, runs), [], None) is not None

    assert [is_compiled(0.1, 1) for _ in range(10)] == [True] * 8 + [False] * 2
    assert is_compiled(0.1, 2)
    assert is_compiled(0.5, 1)
    assert not is_compiled(0.1, 1)


def test_it_is_told_what_is_compiled_for_long(monkeypatch, caplog):
    monkeypatch.setattr(progress, "first", 0.05)
    OnAccelerators().program(_Piece(1.0, 1, seconds=0.3), [], None)
    assert "compiling 2 operations from train.py:3 on, 0 s so far" in caplog.text
