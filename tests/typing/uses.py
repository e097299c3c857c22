"""What a type checker sees: pyright checks it with the package, so its types cannot get lost, and
``test_mypy.py`` has mypy look at it."""

from typing import Any, assert_type

import torchlike as torch
from torchlike.jit._optimized_module import JitModule
from torchlike.utils.data import DataLoader, Dataset, TensorDataset


@torch.compile
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.compile(fullgraph=True)
def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by


@torch.jit
def norm(x: torch.Tensor) -> torch.Tensor:
    return x.norm()


@torch.jit(warmup=0)
def count(x: torch.Tensor) -> int:
    return x.numel()


@torch.no_grad()
def name(number: int) -> str:
    return str(number)


@torch.no_grad
def length(text: str) -> int:
    return len(text)


MYPY = False  # True to mypy


class Pairs(Dataset[tuple[torch.Tensor, int]]):
    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.ones(2), index

    def __len__(self) -> int:
        return 3


x = torch.ones(2)
layer = torch.nn.Linear(2, 2)
stack = torch.nn.Sequential(layer, torch.nn.ReLU())
assert_type(doubled(x), torch.Tensor)
assert_type(scaled(x, by=3.0), torch.Tensor)
assert_type(norm(x), torch.Tensor)
assert_type(count(x), int)
assert_type(name(3), str)
if not MYPY:  # which does not follow a `__new__` that gives another class, in PyTorch's either
    assert_type(length("abc"), int)
assert_type(torch.compile(layer), torch.nn.Linear)
assert_type(torch.jit(layer), JitModule)
assert_type(torch.compile(layer).eval(), torch.nn.Linear)
assert_type(layer(x), Any)
assert_type(layer.weight, torch.Tensor)
assert_type(stack[0], torch.nn.Module)
assert_type(stack[1:], torch.nn.Sequential)
assert_type(DataLoader(Pairs(), batch_size=2), DataLoader[tuple[torch.Tensor, int]])
assert_type(DataLoader([1, 2, 3]), DataLoader[int])
assert_type(Pairs()[0], tuple[torch.Tensor, int])
assert_type(TensorDataset(x, x)[0], tuple[torch.Tensor, ...])
assert_type(x.sum() + 1, torch.Tensor)
