"""Functions that cannot be compiled whole: they run eagerly, say why, and are deferred."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike._core import modes
from torchlike._extensions.deferred import policy
from torchlike._runtime.first_calls import statistics


class Block(nn.Module):
    """Counts how often its Python body runs."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.5))
        self.norm = nn.BatchNorm1d(4)
        self.ran = []

    def forward(self, x):
        torch.compiler.is_compiling() or self.ran.append(1)
        return x + self.norm(self.inner(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.out = nn.Linear(4, 1)
        self.seen = []

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            self.seen.append(x.mean().item())
        return self.out(x)


def trained(compile, steps=4):
    torch.manual_seed(0)
    net = Net()
    call = compile(net)
    # Not Adam: the gradient of a bias before a norm is rounding, which it would make a step of.
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        call(torch.randn(6, 4)).square().mean().backward()
        optimizer.step()
    return net, [t.detach().numpy() for t in net.state_dict().values()]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    "compile",
    [
        torch.compile,
        lambda net: torch.jit(net, fallback="eager"),
        lambda net: torch.compile(lambda x: net(x)),
    ],
    ids=["module", "jit", "function"],
)
def test_training_goes_as_eagerly(compile):
    eager, expected = trained(lambda net: net)
    with pytest.warns(
        RuntimeWarning, match=r"runs eagerly.*test_module_fallback\.py:\d+"
    ) as caught:
        net, found = trained(compile)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(net.seen, eager.seen, rtol=1e-5, atol=1e-6)
    assert len(caught) == 1  # the line, whichever function is told of it first
    assert [len(block.ran) for block in net.blocks] == [4, 4]  # Python runs at each call


@pytest.fixture(autouse=True)
def no_pieces():
    statistics.compiled_pieces.clear()


def test_a_thread_defers_once_a_function_cannot_be_compiled():
    compiled = torch.compile(lambda x: x * x.sum().item())
    before = modes.current.queue
    with pytest.warns(RuntimeWarning, match="(?s)runs eagerly.* is deferred from now on"):
        compiled(torch.ones(2))
    assert modes.current.queue.policy is policy.ASKED
    assert modes.current.watcher is modes.current.queue
    torch.compiler.reset()
    assert modes.current.queue is before


def test_what_deferred_says_holds():
    compiled = torch.compile(lambda x: x * x.sum().item())
    with torch.deferred(False):
        with pytest.warns(RuntimeWarning, match="runs eagerly"):
            compiled(torch.ones(2))
        assert modes.current.queue is None
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert modes.current.queue.policy is policy.ASKED


def test_what_recurs_is_compiled_at_its_second_run():
    net = Net()
    compiled = torch.compile(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(6):
            optimizer.zero_grad()
            compiled(torch.ones(6, 4)).square().mean().backward()
            optimizer.step()
    torch.cpu.synchronize()
    pieces = statistics.compiled_pieces
    assert 1 <= len(pieces) <= 6
    assert any("Backward" in name for piece in pieces for name in piece.operations)


def test_sizes_that_never_recur_are_not_compiled():
    compiled = torch.compile(lambda x: (x * 2).tanh() * x.sum().item())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in range(1, 60):
            compiled(torch.ones(n))
    assert not statistics.compiled_pieces


def test_fullgraph_raises():
    with pytest.raises(torch.jit.JitCaptureError, match=r"\.item\(\)"):
        torch.compile(Net(), fullgraph=True)(torch.ones(6, 4))
    net = Net()
    net.compile(fullgraph=True)
    with pytest.raises(torch.jit.JitCaptureError, match=r"\.item\(\)"):
        net(torch.ones(6, 4))
    with pytest.raises(torch.jit.JitCaptureError, match=r"\.item\(\)"):
        torch.jit(lambda x: x.sum().item())(torch.ones(2))


def test_compiled_in_place():
    net = Net()
    net.compile()
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        net(torch.ones(6, 4))
    for _ in range(2):
        net(torch.ones(6, 4))
    assert [len(block.ran) for block in net.blocks] == [3, 3]


def test_what_would_compile_at_each_call_runs_eagerly():
    class Counts(nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x * len(range(self.calls))  # a number that Python needs

    net = Counts()
    compiled = torch.compile(net)
    x = torch.ones(2)
    found = [compiled(x)[0].item() for _ in range(3)]
    with pytest.warns(RuntimeWarning, match=r"runs eagerly.*Counts\.calls"):
        found.append(compiled(x)[0].item())
    found += [compiled(x)[0].item() for _ in range(3)]
    assert found == [1, 2, 3, 4, 5, 6, 7]
    assert compiled.forward.compiles == 4
    assert compiled.forward.ran_eagerly


def test_kinds_of_calls_that_cannot_be_compiled_are_not_tried_for_ever():
    @torch.compile
    def f(x):
        return x * x.sum().item()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in range(1, 30):
            assert f(torch.ones(n)).tolist() == [float(n)] * n
    assert len(f.fell_back) == 8


def test_the_rest_of_a_function_still_compiles():
    @torch.compile
    def f(x, look):
        return x * x.sum().item() if look else x * 2

    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        f(torch.ones(2), True)
    f(torch.ones(2), False)
    assert (f.compiles, f.ran_eagerly) == (1, False)
    f(torch.ones(2), True)
    assert f.ran_eagerly


def test_errors_of_the_body_come_through():
    net = Net()

    @torch.compile
    def f(x):
        y = net(x)
        if y.sum().item() > -1e9:
            raise KeyError("mine")
        return y

    with pytest.warns(RuntimeWarning, match="runs eagerly"), pytest.raises(KeyError):
        f(torch.ones(6, 4))
    before = len(net.blocks[0].ran)
    net(torch.ones(6, 4))
    net(torch.ones(6, 4))
    assert len(net.blocks[0].ran) == before + 2


def test_hooks_of_modules_run_once_a_call():
    net = Net()
    seen = []
    net.blocks[0].register_forward_hook(lambda module, args, out: seen.append(1))
    net.blocks[1].inner.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    plain = Net()
    plain.load_state_dict(net.state_dict())
    plain.blocks[1].inner.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.eval(), plain.eval()
    compiled = torch.compile(net)
    x = torch.randn(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(5):
            torch.testing.assert_close(compiled(x), plain(x))
    assert len(seen) == 5


def test_inside_are_transforms_and_captures():
    net = Net().eval()
    inner = net.blocks[0]
    x = torch.randn(6, 4)
    gradients = []

    @torch.compile
    def f(x):
        gradients.append(torch.func.grad(lambda y: inner(y).sum())(x))
        torch.testing.assert_close(torch.func.vmap(inner)(x[None])[0], inner(x))
        return torch.jit(lambda y: inner(y))(x) * x.sum().item()

    expected = inner(x) * x.sum().item()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(4):
            torch.testing.assert_close(f(x), expected)
    torch.testing.assert_close(gradients[-1], gradients[0])


def test_threads_have_their_own():
    net = Net().eval()
    compiled = torch.compile(net)
    x = torch.randn(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        compiled(x)
        expected, found = net(x), [None] * 4

        def run(i):
            for _ in range(3):
                found[i] = compiled(x)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for y in found:
        torch.testing.assert_close(y, expected)


def test_modules_made_inside_live_no_longer():
    alive, ran = [], []

    @torch.compile
    def f(x):
        block = Block().eval()
        alive.append(weakref.ref(block))
        result = block(x) + x.sum().item()
        ran.extend(block.ran)
        return result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(5):
            f(torch.ones(6, 4))
    assert len(ran) == 5
    gc.collect()
    assert [ref() for ref in alive] == [None] * 5


def test_explain_says_why():
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        found = torch.jit.explain(torch.compile(lambda x: x * x.sum().item()))(torch.ones(2))
    assert ".item()" in found.not_kept
