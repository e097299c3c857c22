"""State that a compiled program updates: in which memory, and after whose reading of it."""

import re

import jax
import pytest

import torchlike as torch
from torchlike import nn

on_cpu = pytest.mark.skipif(jax.default_backend() != "cpu", reason="of XLA's CPU compiler")


def training(model, optimizer):
    """A compiled step of ``model``, and the eager one."""

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return torch.jit(step), step


def text(compiled):
    program = compiled.latest
    return program.forward.lower(*program.inputs.avals).compile().as_text()


def two_layers(width=256):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))


@on_cpu
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_no_weight_is_copied_to_be_updated(optimizer):
    model = two_layers()
    compiled, _ = training(model, optimizer(model.parameters(), 1e-2))
    compiled(torch.randn(32, 256))
    assert not re.findall(r"f32\[256,256\]\S* copy\(%?inputs", text(compiled))


@on_cpu
def test_a_cell_is_updated_in_its_own_memory():
    # Running means, running variances, scales and shifts are all of 64 numbers, read in another
    # order than they are written in.
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64)
    )
    compiled, _ = training(model, torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9))
    for _ in range(2):
        compiled(torch.randn(2, 3, 8, 8))
    program = compiled.latest
    head = text(compiled).partition("\n")[0]
    aliased = {int(o): int(i) for o, i in re.findall(r"\{(\d+)\}: \((\d+)", head)}
    assert len(aliased) >= len(program.outputs.written) == len(program.inputs.donated)
    for o, where in enumerate(program.outputs.written):
        assert program.inputs.sources[aliased[o]] == where


@pytest.mark.parametrize("extreme", [float("nan"), float("inf"), -0.0, 1e-42])
def test_the_order_changes_no_number(extreme):
    x = torch.randn(32, 256)
    x[0, 0] = extreme
    found = []
    for i in range(2):
        model = two_layers()
        step = training(model, torch.optim.SGD(model.parameters(), 1e-2))[i]
        for _ in range(3):
            step(x)
        found.append([p.detach() for p in model.parameters()])
    for p, q in zip(*found, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_old_values_that_are_given_back_stay():
    torch.manual_seed(0)  # sums of 256 are rounded differently in a program
    weight = torch.randn(256, 256)
    first = weight.clone()
    x = torch.randn(256)

    @torch.jit
    def update(x):
        before = weight.clone()
        y = weight @ x
        weight.mul_(0.5).add_(y)
        return before, weight @ x, before @ x

    for _ in range(3):
        expected = first * 0.5 + first @ x
        before, after, again = update(x)
        torch.testing.assert_close(before, first, rtol=0, atol=0)
        torch.testing.assert_close(weight, expected)
        torch.testing.assert_close(after, expected @ x, rtol=1e-4, atol=1e-4)  # sums of 256
        torch.testing.assert_close(again, first @ x, rtol=1e-4, atol=1e-4)
        first = weight.clone()


def test_what_reads_the_old_value_by_another_way():
    # Read by a product that the update does not follow from, through a transposition that it does.
    weight = torch.randn(256, 256)
    first, x = weight.clone(), torch.randn(256, 4)

    @torch.jit
    def update(x):
        turned = weight.t() * 2
        beside = turned @ x
        weight.copy_(turned.t() + (turned @ x.sin()).sum())
        return beside

    expected = (first.t() * 2) @ x
    torch.testing.assert_close(update(x), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        weight, first * 2 + ((first.t() * 2) @ x.sin()).sum(), rtol=1e-4, atol=1e-4
    )
