"""A module's tables are plain dictionaries, which scripts write to directly."""

import pytest

import torchlike as torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.ReLU()
        self.register_buffer("first", torch.ones(1))
        self.register_buffer("second", torch.zeros(1))

    def forward(self, x):
        return self.act(x)


def test_a_child_exchanged_in_the_table_is_called():
    net = Net()
    compiled = torch.jit(net)
    x = torch.tensor([-2.0])
    for _ in range(3):
        assert compiled(x).tolist() == [0.0]
    net._modules["act"] = torch.nn.Hardtanh()
    assert compiled(x).tolist() == [-1.0]


def test_the_order_of_buffers_counts():
    net = Net()

    def weigh(x):
        for i, b in enumerate(net.buffers()):
            x = x + b * (i + 1)
        return x

    compiled = torch.jit(weigh)
    for _ in range(3):
        assert compiled(torch.zeros(1)).tolist() == [1.0]
    net._buffers["first"] = net._buffers.pop("first")
    assert compiled(torch.zeros(1)).tolist() == [2.0]


def test_the_first_child_written_to_a_table_that_was_empty():
    net, seq, child = torch.nn.Identity(), torch.nn.Sequential(), torch.nn.Tanh()
    counts = torch.jit(lambda x: x * len(net._modules))
    runs = torch.jit(lambda x: seq(x) * 2)
    x = torch.ones(1)
    for _ in range(3):
        assert counts(x).tolist() == [0.0]
        assert runs(x).tolist() == [2.0]
    net._modules["a"] = seq._modules["a"] = child
    assert counts(x).tolist() == [1.0]
    assert runs(x).tolist() == (child(x) * 2).tolist()


def test_hooks_cleared_in_their_table():
    net = torch.nn.Identity()
    net.register_forward_hook(lambda m, args, y: y + 1)
    compiled = torch.jit(net)
    for _ in range(3):
        assert compiled(torch.zeros(1)).tolist() == [1.0]
    net._forward_hooks.clear()
    assert compiled(torch.zeros(1)).tolist() == [0.0]


def test_a_buffer_written_to_the_table_inside():
    net = torch.nn.Identity()

    @torch.jit
    def f(x):
        found = net._buffers.get("last", x * 0) + x
        net._buffers["last"] = x * 10
        return found

    assert [f(torch.ones(1) * i).item() for i in (1, 2)] == [1, 12]
    with pytest.warns(RuntimeWarning, match="the buffers of Identity"):
        assert f(torch.ones(1) * 3).item() == 23
    assert f(torch.ones(1) * 4).item() == 34


@pytest.mark.parametrize("calls", [1, 4])
def test_names_that_are_exchanged_are_seen_whatever_the_order(calls):
    net = Net()
    compiled = torch.jit(lambda x: x * net.first + 10 * net.second)
    for _ in range(calls):
        assert compiled(torch.ones(1)).tolist() == [1.0]
    first, second = net._buffers.pop("first"), net._buffers.pop("second")
    net._buffers.update(second=first, first=second)  # the same tensors, one behind the other
    assert compiled(torch.ones(1)).tolist() == [10.0]
