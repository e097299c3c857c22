"""Hyperparameters that a compiled step sets itself, and that change outside as well."""

import pytest

import torchlike as torch


def constant(optimizer, i):
    for group in optimizer.param_groups:
        group["lr"] = 0.05


def by_the_step(optimizer, i):
    for group in optimizer.param_groups:
        group["lr"] = 0.1 * 0.9**i


def by_branches(optimizer, i):
    lr = 0.1 * 0.5 ** (i // 4) * min(1.0, (i + 1) / 3)
    for group in optimizer.param_groups:
        group["lr"] = lr


def by_what_it_was(optimizer, i):
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * 0.8


def of_one_group(optimizer, i):
    optimizer.param_groups[1]["lr"] = 0.01 * (i + 1)
    optimizer.param_groups[0]["weight_decay"] = 0.1


def by_update(optimizer, i):
    optimizer.param_groups[0].update(lr=0.02 * (i + 1))


def nothing(optimizer, i):
    pass


def trained(make, before, after, compiled, outside):
    a, b = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = make([{"params": [a]}, {"params": [b], "lr": 0.3}])

    def step(x, i):
        before(optimizer, i)
        loss = (a * x).sum() + (b * b).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after(optimizer, i)
        return loss

    run = torch.compile(step, options={"warmup": 0}) if compiled else step
    found = []
    for i in range(9):
        if outside:
            optimizer.param_groups[0]["lr"] = 0.1 * (i % 3 + 1)
        loss = run(torch.ones(3), i).item()
        lrs = [group["lr"] for group in optimizer.param_groups]
        assert all(type(lr) is float for lr in lrs)
        found.append([loss, *a.tolist(), *b.tolist(), *lrs])
    return found, run


@pytest.mark.parametrize("outside", [False, True], ids=["inside alone", "outside too"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (constant, nothing),
        (by_the_step, nothing),
        (by_branches, nothing),
        (by_what_it_was, nothing),
        (of_one_group, nothing),
        (by_update, nothing),
        (nothing, by_what_it_was),
        (constant, by_the_step),
    ],
)
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_a_step_that_sets_them_is_as_eager(optimizer, before, after, outside):
    def make(groups):
        return optimizer(groups, lr=0.1)

    expected, _ = trained(make, before, after, False, outside)
    found, step = trained(make, before, after, True, outside)
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6)
    assert step.compiles <= 6
    assert not step.fell_back


@pytest.mark.filterwarnings("ignore:.*runs eagerly")  # pairs that change are compiled for
def test_betas_that_are_set():
    found = []
    for is_compiled in (False, True):
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.Adam([w], lr=0.1)

        def step(w=w, optimizer=optimizer):
            optimizer.param_groups[0]["betas"] = (0.5, 0.9)
            optimizer.zero_grad()
            (w**2).sum().backward()
            optimizer.step()

        run = torch.compile(step) if is_compiled else step
        for i in range(6):
            if i % 2:
                optimizer.param_groups[0]["betas"] = (0.1 * i, 0.9)
            run()
        found.append(w)
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
