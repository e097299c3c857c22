"""``warmup=k``: another thread compiles, whatever this one and the process do meanwhile."""

import os
import subprocess
import sys
import threading

import pytest

import torchlike as torch
from torchlike._runtime import background


def test_another_thread_builds_and_compiles(monkeypatch):
    threads, original = [], background.submit

    def noted(work, name):
        def noting():
            threads.append((threading.current_thread().name, name))
            return work()

        return original(noting, name)

    monkeypatch.setattr(background, "submit", noted)
    f = torch.jit(lambda x: x.sin().sum(), warmup=2)
    for _ in range(2):
        f(torch.ones(3))
    for thread in threading.enumerate():
        if thread.name == "torchlike.background":
            thread.join()
    assert len(threads) == 2
    for thread, name in threads:
        assert thread == "torchlike.background"
        assert name.endswith("<lambda>")
    f(torch.ones(3))
    assert not f.ran_eagerly


@pytest.mark.exhaustive
def test_the_call_that_runs_the_program_compiles_nothing(tmp_path):
    code = """
import sys, threading
import torchlike as torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Dropout(0.5), torch.nn.Linear(5, 2))
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
forward = torch.jit(lambda x: net(x), warmup=2)
@torch.jit(warmup=2)
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss
def outside(x, y):
    torch.nn.functional.cross_entropy(forward(x), y).backward()
for f in (step, outside):
    for _ in range(2):
        f(x, y)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    print("then", file=sys.stderr)
    f(x, y)
    print("end", file=sys.stderr)
"""
    env = {
        **os.environ,
        "TORCHLIKE_CACHE_DIR": str(tmp_path),
        "JAX_LOG_COMPILES": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Finished XLA compilation of jit(program)") == 2
    assert done.stderr.count("Finished XLA compilation of jit(backward)") == 1
    for part in done.stderr.split("then\n")[1:]:
        assert "Finished XLA compilation of jit(program)" not in part.partition("end\n")[0]
        assert "Finished XLA compilation of jit(backward)" not in part.partition("end\n")[0]


def test_an_error_of_xla_is_raised_by_the_call_that_waits(monkeypatch):
    def broken(self):
        raise RuntimeError("no code for this")

    monkeypatch.setattr("torchlike._runtime.blocks.tiers.Compilation.work", broken)
    f = torch.jit(lambda x: x + 1, warmup=2)
    assert f(torch.ones(1)).item() == 2
    assert f(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="no code for this"):
        f(torch.ones(1))
    assert f(torch.ones(1)).item() == 2  # begins anew
    assert f.ran_eagerly


def test_two_functions_warm_up_at_once():
    w, v = torch.zeros(3, requires_grad=True), torch.zeros(3)
    f = torch.jit(lambda x: (w * x).sum(), warmup=2)
    g = torch.jit(lambda x: v.add_(x).sum(), warmup=3)
    total = 0.0
    for i in range(6):
        x = torch.full((3,), float(i))
        f(x).backward()
        total += 3 * i
        assert g(x).item() == total
    assert w.grad.tolist() == [15.0] * 3
    assert (f.compiles, g.compiles) == (1, 1)
    assert not f.ran_eagerly
    assert not g.ran_eagerly


def test_threads_that_call_one_function():
    total = torch.zeros(())
    lock = threading.Lock()
    f = torch.jit(lambda x: x * 2 + total, warmup=4)
    results, errors = [], []

    def work():
        try:
            for _ in range(5):
                y = f(torch.ones(())).item()
                with lock:
                    results.append(y)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert results == [2.0] * 20
    assert f.compiles == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "f(x); f(x)"])
def test_a_process_may_end_meanwhile(ending, tmp_path):
    code = f"""
import torchlike as torch
def body(x):
    for i in range(60):
        x = (x @ x).sin() + i
    return x
f, g = torch.jit(body, warmup=2), torch.jit(lambda x: body(x) * 2, warmup=2)
x = torch.ones(8, 8)
f(x), f(x), g(x), g(x)
{ending}
"""
    env = {**os.environ, "TORCHLIKE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
