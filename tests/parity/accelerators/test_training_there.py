"""Whole training steps on an accelerator: the losses of the CPU, eager and jitted."""

from __future__ import annotations

import pytest
from gpu_stream import drawing_as_on

import torchlike
from benchmarks.workloads import TRAINING

pytest.importorskip("torch")
STEPS = 5


def _losses(name, device, jitted):
    with torchlike.device(device):
        module = TRAINING[name]
        net = module.in_torch(torchlike, module.problem())

    def step(x, y):
        net.optimizer.zero_grad()
        loss = net.loss(x, y)
        loss.backward()
        net.optimizer.step()
        return loss

    run = torchlike.jit(step) if jitted else step
    losses = [run(net.x, net.y) for _ in range(STEPS)]
    assert {t.device.type for t in losses} == {device}
    assert {p.device.type for p in net.model.parameters()} == {device}
    return [t.item() for t in losses]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", TRAINING)
def test_losses_are_those_of_the_cpu(name, jitted, device):
    # Five steps of Adam multiply the roundings of a gradient near 0.
    with drawing_as_on("cpu"):
        expected = pytest.approx(_losses(name, "cpu", True), rel=2e-4)
    assert _losses(name, device, jitted) == expected


def _mixed(device, steps=6):
    torchlike.manual_seed(0)
    model = torchlike.nn.Sequential(
        torchlike.nn.Linear(32, 64), torchlike.nn.GELU(), torchlike.nn.Linear(64, 4)
    ).to(device)
    optimizer = torchlike.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torchlike.amp.GradScaler(device)
    x = torchlike.randn(16, 32).to(device)
    y = torchlike.randint(4, (16,)).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torchlike.autocast(device, dtype=torchlike.float16):
            logits = model(x)
            assert logits.dtype == torchlike.float16
            loss = torchlike.nn.functional.cross_entropy(logits, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torchlike.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def test_mixed_precision_with_a_scaler(device):
    # float16 has 3 digits.
    assert _mixed(device) == pytest.approx(_mixed("cpu"), rel=2e-2)


def test_a_checkpoint_of_the_accelerator_is_read_on_the_cpu(device, tmp_path):
    torchlike.manual_seed(0)
    model = torchlike.nn.LSTM(3, 4).to(device)
    optimizer = torchlike.optim.Adam(model.parameters())
    model(torchlike.ones(2, 3, device=device))[0].sum().backward()
    optimizer.step()
    torchlike.save({"m": model.state_dict(), "o": optimizer.state_dict()}, tmp_path / "c.pt")
    there = torchlike.load(tmp_path / "c.pt")
    here = torchlike.load(tmp_path / "c.pt", map_location="cpu")
    assert {t.device.type for t in there["m"].values()} == {device}
    assert {t.device.type for t in here["m"].values()} == {"cpu"}
    again = torchlike.nn.LSTM(3, 4).to(device)
    again.load_state_dict(here["m"])
    state = torchlike.optim.Adam(again.parameters())
    state.load_state_dict(here["o"])
    for ours, saved in zip(again.parameters(), model.parameters(), strict=True):
        assert ours.device.type == device
        assert torchlike.equal(ours, saved)
        assert state.state[ours]["exp_avg"].device.type == device


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_a_loader_go_there(workers, device):
    data = torchlike.utils.data.TensorDataset(torchlike.arange(12.0).view(6, 2))
    loader = torchlike.utils.data.DataLoader(data, 2, pin_memory=True, num_workers=workers)
    sums = [x.to(device, non_blocking=True).sum() for (x,) in loader]
    assert {t.device.type for t in sums} == {device}
    assert [t.item() for t in sums] == [6.0, 22.0, 38.0]
