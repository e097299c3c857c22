"""Modules to export, for both libraries: a case gives (module, args, kwargs, dynamic shapes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...], dict[str, Any], Any]]] = {}


def case(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[function.__name__] = function
    return function


@case
def state_and_containers(t: Any) -> Any:
    """Parameters, buffers, constants, plain values and nested results."""

    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.bn = t.nn.Linear(3, 4), t.nn.BatchNorm1d(4)
            self.register_buffer("count", t.zeros(()), persistent=False)
            self.const = t.arange(4.0)

        def forward(self, x, y=None, *, k=None):
            self.count.add_(1)
            z = self.bn(self.lin(x)).relu() + self.const
            return {"out": z.sum(), "n": (z, 3)}, x.reshape(-1), t.tensor([1.0, 2.0]) + k["a"]

    return M(), (t.arange(6.0).reshape(2, 3),), {"k": {"a": t.ones(2)}}, None


@case
def shared_parameters(t: Any) -> Any:
    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = t.nn.Linear(2, 2)
            self.b = self.a
            self.c = t.nn.Parameter(t.ones(2, 2))

        def forward(self, x):
            return self.b(x) @ self.c

    return M(), (t.ones(5, 2),), {}, None


@case
def arguments_written(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x, *rest, **named):
            x.add_(1)
            return x, rest[0] * 2, named["z"] + rest[1][0]

    return M(), (t.ones(5, 2), t.ones(2), [t.zeros(2)]), {"z": t.ones(2)}, None


@case
def buffers_bound_anew(t: Any) -> Any:
    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", t.zeros(2))
            self.calls = 0

        def forward(self, x):
            self.n = self.n + 1
            self.calls += 1
            return x + self.n + self.calls

    return M(), (t.ones(5, 2),), {}, None


@case
def without_gradients_inside(t: Any) -> Any:
    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = t.nn.Linear(2, 2)

        def forward(self, x):
            with t.no_grad():
                y = self.lin(x).tanh()
            return y * self.lin(x)

    return M(), (t.ones(3, 2),), {}, None


@case
def autocast_inside(t: Any) -> Any:
    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = t.nn.Linear(3, 3)

        def forward(self, x):
            with t.autocast("cpu", dtype=t.bfloat16):
                y = self.lin(x)
            return y, y.float()

    return M(), (t.ones(2, 3),), {}, None


@case
def one_tensor_twice(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x, y):
            return x * 2 + y

    return M(), (t.ones(2), t.zeros(2)), {}, None


@case
def random_numbers(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x):
            return (
                t.nn.functional.dropout(x, 0.5, True),
                t.nn.functional.dropout2d(x, 0.5, True),
                t.nn.functional.dropout(x, 0.2, True),
                t.rand_like(x),
                t.empty_like(x).normal_(),
                t.empty_like(x).uniform_(1, 2),
                t.randint(0, 9, (4,)),
            )

    return M(), (t.ones(2, 3, 4, 4),), {}, None


@case
def a_branch(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x):
            return t.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    return M(), (t.ones(3),), {}, None


@case
def views_written(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x, y):
            z = x.clone()
            z[0].add_(1)
            z[:, 1] = y
            v = z.t()
            v.mul_(2)
            a, b = z.chunk(2)
            a.sub_(1)
            z.view(-1)[3:5].zero_()
            return z, v, a, b.sum()

    return M(), (t.arange(12.0).reshape(4, 3), t.ones(4)), {}, None


@case
def a_named_dimension(t: Any) -> Any:
    class M(t.nn.Module):
        def forward(self, x, y):
            return x.reshape(-1, 2) @ y, x.shape[0] * 2, x[:, 1:].flatten()

    batch = t.export.Dim("batch", min=2, max=64)
    return M(), (t.ones(4, 2), t.ones(2, 3)), {}, {"x": {0: batch}, "y": None}


@case
def a_convolution(t: Any) -> Any:
    t.manual_seed(0)
    m = t.nn.Sequential(
        t.nn.Conv2d(1, 2, 3, padding=1),
        t.nn.BatchNorm2d(2),
        t.nn.ReLU(inplace=True),
        t.nn.MaxPool2d(2),
        t.nn.Flatten(),
        t.nn.Dropout(0.5),
        t.nn.Linear(8, 3),
    ).eval()
    return m, (t.ones(2, 1, 4, 4),), {}, None
