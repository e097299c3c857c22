"""A training step is captured once and compiled once by XLA, with nothing in the cache before."""

import os
import re
import subprocess
import sys

SCRIPT = """
import sys
import torchlike as torch

torch.manual_seed(0)
x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])

def trained(make):
    net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Dropout(0.5), torch.nn.Linear(5, 2))
    optimizer = make(net.parameters())

    @torch.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    print("starts", file=sys.stderr)
    for turn in range(4):
        step(x, y).item()
        print("after", turn, step.compiles, file=sys.stderr)

for make in (
    lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9), torch.optim.Adam, torch.optim.AdamW,
    torch.optim.RMSprop,
):
    trained(make)
"""


def test_the_second_call_compiles_nothing(tmp_path):
    # JAX logs each compilation, also one that it then finds in the persistent cache.
    env = {**os.environ, "TORCHLIKE_CACHE_DIR": str(tmp_path), "JAX_LOG_COMPILES": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    _, *optimizers = done.stderr.split("starts\n")
    assert len(optimizers) == 4
    for said in optimizers:
        *turns, rest = re.split(r"after \d (\d)\n", said)
        logs, captures = turns[::2], turns[1::2]
        assert captures == ["1"] * 4
        compiled = [re.findall(r"Finished XLA compilation of jit\((\w+)\)", log) for log in logs]
        assert compiled == [["program"], [], [], []]
    assert rest == ""
