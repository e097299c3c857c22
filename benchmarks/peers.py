"""One training step of the MLP in torchlike and in the frameworks that people compare it with.

    python -m benchmarks.peers                             those that this Python can import
    python -m benchmarks.peers --python torchax=PATH/bin/python --python mlx=PATH/bin/python
    DEV=CPU python -m benchmarks.peers --only tinygrad

Each runs in a process of its own, on one thread where it lets itself be told, with the same weights
and data. Reported: the seconds from the first call of the step to its result, the median of later
steps (each waited for), and the loss after 20 steps, by which it is seen that all compute the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.workloads import mlp

ROOT = Path(__file__).resolve().parents[1]
#: Steps after which losses are compared, and steps that are timed.
COMPARED, TIMED = 20, 300

#: ``step()`` gives a loss; ``value(loss)`` waits for it and gives a float.
Training = tuple[Callable[[], Any], Callable[[Any], float]]


def _torch_like(torch: Any, compiled: bool) -> Training:
    training = mlp.in_torch(torch, mlp.problem())
    optimizer, loss_of, x, y = training.optimizer, training.loss, training.x, training.y

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return (torch.compile(step) if compiled else step), float


def _torch(compiled: bool = False) -> Training:
    import torch

    torch.set_num_threads(1)
    return _torch_like(torch, compiled)


def _torchlike(compiled: bool = False) -> Training:
    import torchlike

    return _torch_like(torchlike, compiled)


def _stateful(step: Callable[..., Any], *state: Any) -> Callable[[], Any]:
    """Wrap a pure ``step(*state) -> (*state, loss)`` as one that keeps its state."""
    held = list(state)

    def run() -> Any:
        *held[:], loss = step(*held)
        return loss

    return run


def _jax() -> Training:
    training = mlp.in_jax(mlp.problem())

    def step(params: Any, opt_state: Any) -> Any:
        return training.step(params, opt_state, training.x, training.y)

    return _stateful(step, training.params, training.opt_state), float


def _torchax() -> Training:
    import optax
    import torch
    import torchax
    from torchax import interop, train

    training = mlp.in_torch(torch, mlp.problem())
    env = torchax.default_env()
    with env:
        model = interop.JittableModule(training.model.to("jax"))
        x, y = training.x.to("jax"), training.y.to("jax")
    optimizer = optax.adam(mlp.LEARNING_RATE)
    whole = interop.jax_jit(
        train.make_train_step(
            lambda weights, buffers, x: model.functional_call("forward", weights, buffers, x),
            torch.nn.functional.cross_entropy,
            optimizer,
        ),
        kwargs_for_jax_jit={"donate_argnums": (0, 2)},
    )

    def step(weights: Any, opt_state: Any) -> Any:
        loss, weights, opt_state = whole(weights, model.buffers, opt_state, x, y)
        return weights, opt_state, loss

    opt_state = interop.call_jax(optimizer.init, model.params)
    return _stateful(step, model.params, opt_state), lambda loss: float(loss.jax())


def _mlx() -> Training:
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim

    mx.set_default_device(mx.cpu)
    problem = mlp.problem()
    model = nn.Sequential(
        nn.Linear(mlp.INPUTS, mlp.HIDDEN), nn.ReLU(), nn.Linear(mlp.HIDDEN, mlp.CLASSES)
    )
    model.load_weights([(f"layers.{k}", mx.array(v)) for k, v in problem.weights.items()])
    optimizer = optim.Adam(mlp.LEARNING_RATE, bias_correction=True)
    x, y = mx.array(problem.x), mx.array(problem.y)
    loss_and_grad = nn.value_and_grad(
        model, lambda model: nn.losses.cross_entropy(model(x), y, reduction="mean")
    )
    state = [model.state, optimizer.state]

    def body() -> Any:
        loss, grads = loss_and_grad(model)
        optimizer.update(model, grads)
        return loss

    compiled = mx.compile(body, inputs=state, outputs=state)

    def step() -> Any:
        loss = compiled()
        mx.eval(loss, state)
        return loss

    return step, lambda loss: loss.item()


def _tinygrad() -> Training:
    from tinygrad import Context, Tensor, TinyJit, nn

    problem = mlp.problem()
    w = {k: Tensor(v) for k, v in problem.weights.items()}
    x, y = Tensor(problem.x), Tensor(problem.y.astype("int32"))
    optimizer = nn.optim.Adam(list(w.values()), lr=mlp.LEARNING_RATE)

    @TinyJit
    def training_step() -> Any:
        optimizer.zero_grad()
        hidden = x.linear(w["0.weight"].T, w["0.bias"]).relu()
        out = hidden.linear(w["2.weight"].T, w["2.bias"])
        loss = out.sparse_categorical_crossentropy(y).backward()
        return loss.realize(*optimizer.schedule_step())

    def step() -> Any:
        with Context(TRAINING=1):
            return training_step()

    return step, lambda loss: loss.item()


PEERS: dict[str, Callable[[], Training]] = {
    "torchlike": _torchlike,
    "torchlike.jit": lambda: _torchlike(compiled=True),
    "torch": _torch,
    "torch.compile": lambda: _torch(compiled=True),
    "jax": _jax,
    "torchax": _torchax,
    "mlx": _mlx,
    "tinygrad": _tinygrad,
}


def measure(name: str) -> dict[str, Any]:
    """Run one of them in this process: seconds of the first and of a later step, and the loss."""
    step, value = PEERS[name]()
    start = time.perf_counter()
    loss = value(step())
    first = time.perf_counter() - start
    for _ in range(COMPARED - 1):
        loss = value(step())
    times = []
    for _ in range(TIMED):
        start = time.perf_counter()
        value(step())
        times.append(time.perf_counter() - start)
    return {"first": first, "later": median(times), "loss": loss}


def _run(name: str, python: str) -> dict[str, Any]:
    command = [python, str(Path(__file__).resolve()), "--worker", name]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:] or ["no message"]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker)))
        return
    from rich.console import Console
    from rich.table import Table

    pythons = dict(pair.split("=", 1) for pair in arguments.python)
    table = Table("framework", "first step, s", "later steps, ms", f"loss after {COMPARED}")
    for name in arguments.only:
        found = _run(name, pythons.get(name, sys.executable))
        if "error" in found:
            table.add_row(name, "-", "-", found["error"][0])
        else:
            later = f"{found['later'] * 1e3:.3f}"
            table.add_row(name, f"{found['first']:.2f}", later, f"{found['loss']:.6f}")
    Console().print(table)


if __name__ == "__main__":
    main()
