"""What the programs share: the table that they enter, and small modules."""

from __future__ import annotations

from typing import Any

CASES: dict[str, Any] = {}


def case(program: Any) -> Any:
    """Enters a program under its name."""
    CASES[program.__name__] = program
    return program


def called(f: Any, torch: Any, *values: float) -> list[Any]:
    """The results of one call for each value."""
    found = []
    for value in values:
        y = f(torch.tensor([float(value)]))
        found.append(y.tolist() if isinstance(y, torch.Tensor) else y)
    return found


def module(torch: Any, forward: Any, **tensors: Any) -> Any:
    """A module with that forward, and buffers."""

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return forward(self, x)

    net = Net()
    for name, t in tensors.items():
        net.register_buffer(name, t)
    return net


def scaling(torch: Any, factor: float) -> Any:
    """A layer that multiplies one number by the factor."""
    made = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        made.weight.fill_(factor)
    return made


def trained(torch: Any, net: Any, opt: Any, x: Any, steps: int = 4) -> list[float]:
    """Losses of steps that run eagerly."""
    found = []
    for _ in range(steps):
        loss = (net(x) + 1).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        found.append(loss.item())
    return found
