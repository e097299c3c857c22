"""Two processes: all_reduce against PyTorch's gloo, and what data parallelism adds to a step.

``python -m benchmarks.distributed`` starts both frameworks in turn, three times, and prints the
least of each (it needs PyTorch, for the second column).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 3
SIZES = {"4 KB": 1 << 10, "4 MB": 1 << 20, "100 MB": 25 << 20}


def _least(run, times):
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def _mlp(torch):
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers), torch.randn(64, 64), torch.randn(64, 10)


def _transformer(torch):
    nn = torch.nn
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(128, 65))
    return model, torch.randn(8, 64, 128), torch.randn(8, 64, 65)


def _step(torch, model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def rank(framework):
    """What one rank does; rank 0 prints the times as JSON."""
    if framework == "torchlike":
        import torchlike as torch
        import torchlike.distributed as dist
    else:
        import torch
        import torch.distributed as dist
    dist.init_process_group("gloo")
    found = {}
    for name, n in SIZES.items():
        x = torch.ones(n)
        run = lambda x=x: dist.all_reduce(x)  # noqa: E731
        for _ in range(3):
            run()
        found[f"all_reduce {name}"] = _least(run, 300 if n < 1 << 12 else 30 if n < 1 << 24 else 6)
    for name, make in {"MLP": _mlp, "Transformer": _transformer}.items():
        model, x, y = make(torch)
        alone = _step(torch, model, x, y)
        both = _step(torch, torch.nn.parallel.DistributedDataParallel(model), x, y)
        for _ in range(5):
            alone()
            both()
        dist.barrier()
        found[f"{name} step"] = _least(alone, 30)
        dist.barrier()
        found[f"{name} step, DDP"] = _least(both, 30)
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def _launched(framework):
    own = [sys.executable, "-m", "torchlike", "launch"]
    theirs = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    command = own if framework == "torchlike" else theirs
    ended = subprocess.run(
        [*command, "--nproc-per-node", "2", str(Path(__file__).resolve()), framework],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(next(line for line in ended.stdout.splitlines() if line.startswith("{")))


def main():
    """Both frameworks in turn, and a table."""
    rounds = {"torchlike": [], "torch": []}
    for _ in range(ROUNDS):
        for framework, found in rounds.items():
            found.append(_launched(framework))
    least = {f: {k: min(r[k] for r in found) for k in found[0]} for f, found in rounds.items()}
    print(f"{'ms':<24}{'torchlike':>12}{'PyTorch':>12}{'ratio':>8}")
    for name, own in least["torchlike"].items():
        theirs = least["torch"][name]
        print(f"{name:<24}{own * 1e3:>12.3f}{theirs * 1e3:>12.3f}{own / theirs:>8.2f}")
    for model in ("MLP", "Transformer"):
        own, theirs = (t[f"{model} step, DDP"] / t[f"{model} step"] for t in least.values())
        print(f"DDP over single, {model:<11}{own:>8.2f}{theirs:>12.2f}{own / theirs:>12.2f}")


if __name__ == "__main__":
    rank(sys.argv[1]) if len(sys.argv) > 1 else main()
