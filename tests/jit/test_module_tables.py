"""A module's tables are plain dictionaries, which scripts write to directly."""

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
