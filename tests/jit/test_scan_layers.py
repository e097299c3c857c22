"""scan_layers: identical layers as one loop, with the values of a Python loop over them."""

import copy

import pytest
from comparing import close

import torchlike as torch
from torchlike import nn
from torchlike.jit import JitCaptureError, scan_layers

WIDTH, LAYERS = 8, 5


class Block(nn.Module):
    def __init__(self, p=0.0, act=torch.tanh):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.down, self.drop = nn.Linear(2 * WIDTH, WIDTH), nn.Dropout(p)
        self.act, self.factors = act, [0.5, {"p": p}]

    def forward(self, x, scale=1.0):
        scale = scale * self.factors[0]
        return x + scale * self.drop(self.down(self.drop(self.act(self.up(self.norm(x))))))


class Net(nn.Module):
    def __init__(self, make=Block, n=LAYERS):
        super().__init__()
        self.layers = nn.ModuleList(make() for _ in range(n))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, x, *args):
        return self.head(scan_layers(self.layers, x, *args))


def pair(make=Block, n=LAYERS):
    torch.manual_seed(0)
    net = Net(make, n)
    return net, copy.deepcopy(net)


def x_of(rows=4):
    return torch.arange(rows * WIDTH).float().sin().reshape(rows, WIDTH)


def assert_same_state(a, b):
    for (name, p), q in zip(
        a.state_dict(keep_vars=True).items(), b.state_dict(keep_vars=True).values(), strict=True
    ):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6, msg=name)
        assert (p.grad is None) == (q.grad is None)
        if p.grad is not None:
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_values_gradients_and_draws_are_those_of_the_loop(p):
    eager, jitted = pair(lambda: Block(p))
    calls = torch.jit(jitted)
    for seed in range(3):
        a, b = x_of().requires_grad_(), x_of().requires_grad_()
        torch.manual_seed(seed)
        expected, after = eager(a), torch.rand(2)
        torch.manual_seed(seed)
        found = calls(b)
        assert torch.rand(2).tolist() == after.tolist()
        close(found, expected)
        expected.square().sum().backward()
        found.square().sum().backward()
        close(b.grad, a.grad)
        assert_same_state(jitted, eager)
    assert calls.compiles == 1


@pytest.mark.exhaustive
def test_a_whole_training_step():
    eager, jitted = pair(lambda: Block(0.1))

    def step_of(net):
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    steps = step_of(eager), torch.jit(step_of(jitted))
    y = torch.tensor([0, 1, 2, 1])
    losses = []
    for step in steps:
        torch.manual_seed(3)
        losses.append([step(x_of(), y).item() for _ in range(10)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[0][-1] < losses[0][0]
    assert steps[1].compiles == 1


def test_the_graph_holds_one_layer():
    def size(n):
        net = Net(n=n)
        f = torch.jit.script(net)
        f(x_of())
        assert "scan" in f.graph
        return f.graph.count("dot_general"), f.graph.count("tanh")

    assert size(3) == size(24)


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.norm = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return torch.relu(self.norm(self.lin(x)))


def test_each_layers_buffers_are_written():
    # In float64: five normalizations of four rows each enlarge a rounding error of float32 beyond
    # any tolerance, and errors are others on other processors, and by NumPy than by XLA.
    eager, jitted = (net.double() for net in pair(Statistics))
    x = x_of().double()
    call = torch.jit(jitted)
    for _ in range(3):
        close(call(x), eager(x))
        assert_same_state(jitted, eager)
    assert jitted.layers[2].calls.item() == 3
    assert jitted.layers[4].norm.num_batches_tracked.item() == 3
    eager.eval()
    jitted.eval()
    close(call(x), eager(x))
    assert call.compiles == 2


def test_one_layers_change_is_seen():
    net, _ = pair()
    call = torch.jit(net)
    call(x_of())
    with torch.no_grad():
        net.layers[3].up.weight.zero_()
    close(call(x_of()), net(x_of()))
    assert call.compiles == 1
    net.layers[3].up.weight = nn.Parameter(torch.ones(2 * WIDTH, WIDTH))
    close(call(x_of()), net(x_of()))
    assert call.compiles == 2
    net.layers[2].drop.p = 0.25
    with pytest.raises(ValueError, match=r"layers 0 and 2 differ: Block\.drop\.p is 0\.0 in one"):
        call(x_of())
    net.layers[2].drop.p = 0.0
    net.layers[1].factors[0] = 3.0
    with pytest.raises(ValueError, match=r"layers 0 and 1 differ: Block\.factors\[0\] is 0\.5"):
        call(x_of())


@pytest.mark.exhaustive
def test_frozen_layers_no_grad_and_shared_weights():
    eager, jitted = pair()
    for net in (eager, jitted):
        for layer in net.layers:
            layer.up.weight.requires_grad_(False)
            layer.down.bias = net.layers[0].down.bias
    call = torch.jit(jitted)
    for net in (eager, call):
        net(x_of()).sum().backward()
    assert jitted.layers[1].up.weight.grad is None
    assert_same_state(jitted, eager)
    with torch.no_grad():
        found = call(x_of())
    assert not found.requires_grad
    close(found, eager(x_of()))


def test_nested_tensors_and_extra_arguments():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(WIDTH, WIDTH)

        def forward(self, state, factor, *, shift):
            return {"x": self.lin(state["x"]) * factor + shift, "n": state["n"] + 1}

    torch.manual_seed(0)
    layers = nn.Sequential(*(Pair() for _ in range(4)))
    factor = torch.tensor(0.5, requires_grad=True)

    def run(x, factor):
        return scan_layers(layers, {"x": x, "n": torch.tensor(0)}, factor, shift=1.0)

    expected, found = run(x_of(), factor), torch.jit(run)(x_of(), factor)
    assert found["n"].item() == 4
    close(found["x"], expected["x"])
    (a,) = torch.autograd.grad(expected["x"].sum(), factor)
    (b,) = torch.autograd.grad(found["x"].sum(), factor)
    close(a, b)


@pytest.mark.exhaustive
def test_branches_and_checkpoints_within_a_layer():
    class Choosing(Block):
        def forward(self, x):
            if x.sum() > 0:
                return torch.utils.checkpoint.checkpoint(super().forward, x, use_reentrant=False)
            return -super().forward(x)

    eager, jitted = pair(Choosing)
    call = torch.jit(jitted)
    for x in (x_of(), -x_of()):
        expected, found = eager(x), call(x)
        close(found, expected)
        expected.sum().backward()
        found.sum().backward()
        assert_same_state(jitted, eager)


def test_none_one_and_what_eager_execution_checks_too():
    x = x_of()
    assert scan_layers([], x) is x
    layer = Block()
    assert scan_layers([layer], x).tolist() == layer(x).tolist()
    with pytest.raises(TypeError, match="expects modules, not function"):
        scan_layers([lambda x: x], x)


def changed(change):
    layers = [Block() for _ in range(3)]
    change(layers[2])
    return layers


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b.drop.eval(), r"Block\.drop\.training is True in one and False"),
        (lambda b: setattr(b, "act", torch.relu), r"Block\.act is "),
        (lambda b: setattr(b, "act", lambda x: x), r"Block\.act is "),
        (
            lambda b: setattr(b, "up", nn.Linear(WIDTH, 3)),
            r"Block\.up\.weight is Parameter \[16, 8\]",
        ),
        (lambda b: b.up.weight.requires_grad_(False), r"Block\.up\.weight is Parameter \[16, 8\]"),
        (lambda b: setattr(b, "mask", torch.ones(3)), r"Block has 'mask' in only one"),
        (lambda b: setattr(b, "factors", (1,)), r"Block\.factors is"),
        (lambda b: setattr(b, "norm", nn.Identity()), r"Block\.norm is"),
        (lambda b: b.register_forward_hook(print), "Block has hooks"),
        (lambda b: setattr(b, "up", b.up.double()), r"torch\.float64"),
        (lambda b: setattr(b.down, "bias", None), r"bias is Parameter \[8\] .* and None"),
        (lambda b: setattr(b.norm, "bias", b.down.bias), "share memory"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_layers_that_differ_are_refused(change, words, compiled):
    layers = changed(change)

    def run(x):
        return scan_layers(layers, x)

    with pytest.raises(ValueError, match=f"layers 0 and 2 differ: .*{words}"):
        (torch.jit(run) if compiled else run)(x_of())


def test_tensors_that_are_no_buffers_are_refused():
    layers = [Block(), Block()]
    for layer in layers:
        layer.mask = torch.ones(3)
    with pytest.raises(ValueError, match=r"Block\.mask is a tensor of its own in each layer"):
        scan_layers(layers, x_of())
    layers[1].mask = layers[0].mask
    close(torch.jit(lambda x: scan_layers(layers, x))(x_of()), scan_layers(layers, x_of()))


class Sets(Block):
    def forward(self, x):
        self.last = x
        return x


class Rebinds(nn.BatchNorm1d):
    def forward(self, x):
        self.running_mean = self.running_mean * 2
        return x


class Grows(nn.Linear):
    def forward(self, x):
        return torch.cat([x, x])


class Records(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, WIDTH))
        self.lin = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        x = self.lin(x)
        self.seen.copy_(x)
        return x


class Outside(nn.Module):
    total = torch.zeros(())

    def forward(self, x):
        self.total.add_(1)
        return x


class ReadsGrad(nn.Linear):
    def forward(self, x):
        return x if self.weight.grad is None else -x


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (Sets, JitCaptureError, "Sets.last"),
        (lambda: Rebinds(WIDTH), JitCaptureError, r"binding `Rebinds\.running_mean`"),
        (lambda: Grows(WIDTH, WIDTH), RuntimeError, "must keep shapes and dtypes"),
        (Records, JitCaptureError, "requires grad into a buffer"),
        (Outside, JitCaptureError, "writing in place to a tensor from outside"),
        (lambda: ReadsGrad(WIDTH, WIDTH), JitCaptureError, r"reading `\.grad` of a parameter"),
    ],
)
def test_what_a_layer_may_not_do(make, error, words):
    layers = nn.Sequential(*(make() for _ in range(3)))
    versions = [t._version for t in layers.buffers()]
    with pytest.raises(error, match=words):
        torch.jit(lambda x: scan_layers(layers, x))(x_of())
    assert [t._version for t in layers.buffers()] == versions
