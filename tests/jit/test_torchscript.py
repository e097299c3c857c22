"""torch.jit.script, trace, save and load."""

import io
import subprocess
import sys

import pytest
from comparing import close

import torchlike as torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.bn = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
        self.k = 2

    def forward(self, x):
        h = self.bn(self.lin(x))
        if h.sum() > 0:
            return h * self.k
        return -h

    @torch.jit.export
    def twice(self, x):
        return self.forward(x) * 2


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


X = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0], [2.0, 0.0, 1.0], [1.0, 1.0, -1.0]])


@pytest.mark.usefixtures("compiled_at_once")
def test_script_of_a_module_shares_state_and_keeps_both_branches(net):
    s = torch.jit.script(net)
    assert isinstance(s, torch.jit.ScriptModule)
    assert isinstance(s, Net)
    assert torch.jit.script(s) is s
    s.eval()
    assert not net.training
    for x in (X, -X, X * 3):
        close(s(x), net(x))
    close(s.twice(X), net.twice(X))
    assert s._script.compiles == 1
    assert list(s.state_dict()) == list(net.state_dict())
    assert "lambda" in s.graph
    assert "stablehlo" in s.code


@pytest.mark.exhaustive
@pytest.mark.usefixtures("compiled_at_once")
def test_script_trains_as_the_module_does(net):
    s = torch.jit.script(net)
    s(X).square().sum().backward()
    compiled = [p.grad.clone() for p in net.parameters()]
    stats = net.bn.running_mean.clone()
    torch.manual_seed(0)
    other = Net()
    other(X).square().sum().backward()
    for a, p in zip(compiled, other.parameters(), strict=True):
        close(a, p.grad)
    close(stats, other.bn.running_mean)


@pytest.mark.usefixtures("compiled_at_once")
def test_script_of_a_function():
    @torch.jit.script
    def f(x, n: int):
        if x.sum() > n:
            return x
        return x * n

    with pytest.raises(RuntimeError, match="no graph yet"):
        _ = f.graph
    assert f(X, 2).tolist() == X.tolist()
    assert f(-X, 2).tolist() == (X * -2).tolist()
    assert isinstance(f, torch.jit.ScriptFunction)
    assert f.compiles == 1
    with pytest.raises(RuntimeError, match="expects a function"):
        torch.jit.script(3)
    assert torch.jit.script(Net) is Net


def test_is_scripting_within_script_alone():
    f = lambda x: x + int(torch.jit.is_scripting())  # noqa: E731
    assert torch.jit.script(f)(torch.zeros(1)) == 1
    assert torch.jit(f)(torch.zeros(1)) == 0


def test_a_saved_module_runs_without_its_code(net, tmp_path):
    net.eval()
    s = torch.jit.script(net)
    with pytest.raises(RuntimeError, match="was not called yet"):
        s.save(tmp_path / "early.pt")
    s(X)
    s.save(tmp_path / "net.pt")
    net(X).square().sum().backward()
    code = (
        "import sys, torchlike as torch\n"
        f"net = torch.jit.load({str(tmp_path / 'net.pt')!r})\n"
        f"x = torch.tensor({X.tolist()!r})\n"
        "y = net(x)\n"
        "y.square().sum().backward()\n"
        "print([y.tolist(), net(-x).tolist(), net.lin.weight.grad.tolist(),\n"
        "       list(net.state_dict()), net.training])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    y, z, grad, names, training = eval(done.stdout)
    close(torch.tensor(y), net(X))
    close(torch.tensor(z), net(-X))
    close(torch.tensor(grad), net.lin.weight.grad)
    assert names == list(net.state_dict())
    assert training is False


def roundtrip(s, **options):
    file = io.BytesIO()
    torch.jit.save(s, file)
    file.seek(0)
    return torch.jit.load(file, **options)


@pytest.mark.exhaustive
def test_a_loaded_module_is_a_module(net):
    net.eval()
    s = torch.jit.script(net)
    s(X)
    loaded = roundtrip(s)
    assert isinstance(loaded, torch.jit.ScriptModule)
    with torch.no_grad():
        loaded.lin.weight.mul_(2)
        net.lin.weight.mul_(2)
    close(loaded(X), net(X))
    opt = torch.optim.SGD(loaded.parameters(), lr=0.1)
    before = loaded(X).square().sum()
    before.backward()
    opt.step()
    assert loaded(X).square().sum() < before
    again = roundtrip(loaded)
    close(again(X), loaded(X))
    jitted = torch.jit(lambda x: loaded(x) * 2)
    close(jitted(X), loaded(X) * 2)
    with pytest.raises(RuntimeError, match=r"no exported program takes \(float32\[1, 3\]\)"):
        loaded(X[:1])
    loaded.train()
    with pytest.raises(RuntimeError, match="training mode"):
        loaded(X)


def test_training_mode_updates_statistics_after_loading(net):
    s = torch.jit.script(net)
    s(X)
    loaded = roundtrip(s)
    close(loaded(X), net(X))
    close(loaded.bn.running_mean, net.bn.running_mean)
    assert loaded.bn.num_batches_tracked == net.bn.num_batches_tracked == 2


def test_functions_numbers_and_structures_are_kept():
    def f(x, options):
        return {"a": x * options["k"], "b": [x.sum(), None, "text", 3]}

    s = torch.jit.script(f)
    s(X, {"k": 2})
    s(X[0], {"k": 3})
    loaded = roundtrip(s)
    for args in ((X, {"k": 2}), (X[0], {"k": 3})):
        found, expected = loaded(*args), f(*args)
        assert found["a"].tolist() == expected["a"].tolist()
        assert found["b"][1:] == [None, "text", 3]


def test_what_cannot_be_saved_says_why():
    drop = torch.jit.script(torch.nn.Dropout(0.5))
    drop(X)
    with pytest.raises(RuntimeError, match=r"draws random numbers.*eval"):
        drop.save(io.BytesIO())
    drop.eval()
    with pytest.raises(RuntimeError, match="present mode"):
        drop.save(io.BytesIO())


def test_files_of_another_kind_are_refused(tmp_path):
    torch.save({"a": X}, tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match="was not saved by torchlike"):
        torch.jit.load(tmp_path / "weights.pt")
    (tmp_path / "text").write_text("no")
    with pytest.raises(RuntimeError, match="no zip archive"):
        torch.jit.load(tmp_path / "text")


def test_extra_files(net):
    s = torch.jit.script(torch.nn.Linear(3, 1))
    s(X)
    file = io.BytesIO()
    torch.jit.save(s, file, _extra_files={"note.txt": "hello"})
    file.seek(0)
    extra = {"note.txt": ""}
    torch.jit.load(file, _extra_files=extra)
    assert extra["note.txt"] == b"hello"


def test_freeze_and_the_rest(net):
    s = torch.jit.script(net)
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(s)
    with pytest.raises(RuntimeError, match="ScriptModule"):
        torch.jit.freeze(net)
    s.eval()
    close(torch.jit.optimize_for_inference(torch.jit.freeze(s))(X), net(X))
    assert torch.jit.wait(torch.jit.fork(lambda x: x + 1, X)).tolist() == (X + 1).tolist()


def test_arguments_may_be_given_in_any_way():
    class Scaled(torch.nn.Module):
        def forward(self, x, flag: bool = False, by: float = 2.0):
            return x + by if flag else x - by

    scripted = torch.jit.script(Scaled())
    x = torch.ones(2)
    scripted(x, flag=True)
    scripted(x, True)
    scripted(x)
    scripted(x, flag=False, by=3.0)
    scripted(x, by=3.0)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert len(loaded._artifacts) == 3
    for args, kwargs, expected in [
        ((x, True), {}, 3),
        ((x,), {"flag": True}, 3),
        ((x, False, 2.0), {}, -1),
        ((x,), {}, -1),
        ((x,), {"by": 3.0}, -2),
        ((), {"x": x}, -1),
        ((), {"by": 2.0, "flag": True, "x": x}, 3),
    ]:
        assert loaded(*args, **kwargs).tolist() == [expected] * 2
    for args, kwargs in [
        ((), {}),
        ((x, True, 2.0, 1), {}),
        ((x,), {"other": 1}),
        ((x, True, 3.0), {}),
    ]:
        with pytest.raises(RuntimeError, match="no exported program takes"):
            loaded(*args, **kwargs)
