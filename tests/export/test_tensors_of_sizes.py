"""``torch.tensor`` of sizes: by operators in a program, of the sizes at hand outside of one."""

import pytest

import torchlike as torch
from torchlike.export import Dim, export
from torchlike.fx.experimental.proxy_tensor import make_fx

X = torch.ones(4, 3)
MADE = {
    "int": lambda x: torch.tensor(x.shape[0]),
    "list": lambda x: torch.tensor([x.shape[0], 3]),
    "nested": lambda x: torch.tensor([[x.shape[0], 3], (1, 2)]),
    "shape": lambda x: torch.tensor(x.shape),
    "float": lambda x: torch.tensor([x.shape[0] / 2, 1]),
    "dtype": lambda x: torch.tensor(x.shape[0], dtype=torch.float16),
    "as_tensor": lambda x: torch.as_tensor(x.shape[0]),
}


def same(ours, expected):
    assert ours.dtype is expected.dtype
    assert ours.tolist() == expected.tolist()


@pytest.mark.parametrize("name", MADE)
def test_a_program_makes_them_of_its_sizes(name):
    class Made(torch.nn.Module):
        def forward(self, x):
            return MADE[name](x)

    larger = torch.ones(7, 3)
    program = export(Made(), (X,), dynamic_shapes={"x": {0: Dim("n")}}).module()
    graph = make_fx(MADE[name], tracing_mode="symbolic")(X)
    for found in (program, graph, torch.jit(MADE[name])):
        same(found(larger), MADE[name](larger))


def symbol(size):
    class Size(torch.nn.Module):
        def forward(self, x):
            return x + x.shape[0]

    program = export(Size(), (torch.ones(size, 3),), dynamic_shapes={"x": {0: Dim("n")}})
    return next(n.meta["val"].shape[0] for n in program.graph.nodes if n.op == "placeholder")


def test_outside_of_a_program_they_are_the_sizes_at_hand():
    five, six = symbol(5), symbol(6)
    same(torch.tensor(five), torch.tensor(5))
    same(torch.tensor([[five, six]], dtype=torch.int32), torch.tensor([[5, 6]], dtype=torch.int32))
    same(torch.tensor((torch.sym_float(five), 1)), torch.tensor([5.0, 1.0]))
    assert torch.tensor(torch.sym_float(six), requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="expected sequence of equal length"):
        torch.tensor([five, [six]])
    with pytest.raises(RuntimeError, match="Could not infer dtype of object"):
        torch.tensor([object()])
