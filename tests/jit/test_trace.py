"""torch.jit.trace and trace_module."""

import warnings

import pytest
from comparing import close

import torchlike as torch

X = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0], [2.0, 0.0, 1.0], [1.0, 1.0, -1.0]])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.bn = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)

    def forward(self, x):
        h = self.bn(self.lin(x))
        return h * 2 if h.sum() > 0 else -h

    def weighted(self, w):
        return self.lin.weight * w

    def twice(self, a, b):
        return a + 2 * b


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


def test_trace_warns_of_branches_and_keeps_them(net):
    with pytest.warns(torch.jit.TracerWarning, match="branches on a tensor's value"):
        traced = torch.jit.trace(net, X)
    close(traced(X), net(X))
    close(traced(-X), net(-X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = torch.jit.trace(lambda x, y: x * y, (X, X))
    assert f(X, X).tolist() == (X * X).tolist()
    with pytest.raises(RuntimeError, match="must be given"):
        torch.jit.trace(net)


def test_trace_leaves_generator_and_statistics_as_one_call_does():
    drop = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
    torch.manual_seed(1)
    drop(X)
    state, mean = torch.get_rng_state(), drop[0].running_mean.clone()
    drop[0].reset_running_stats()
    torch.manual_seed(1)
    torch.jit.trace(drop, X)
    assert torch.get_rng_state().tolist() == state.tolist()
    close(drop[0].running_mean, mean)


def test_inputs_to_check_a_trace_with():
    asked = []

    def double(x):
        asked.append(tuple(x.shape))
        return x * 2

    more = [torch.ones(3), (torch.ones(4),)]
    torch.jit.trace(double, torch.ones(2), check_inputs=more)
    assert {(2,), (3,), (4,)} <= set(asked)


def test_check_trace_notices_a_difference():
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(torch.jit.TracingCheckError, match="Output nr 1"):
        torch.jit.trace(f, X)


W = torch.ones(3, 3)


def test_methods_of_a_module_are_traced(net):
    net.forward = net.twice
    given = {"weighted": W, "twice": (X, X)}
    traced = torch.jit.trace_module(
        net, given, check_inputs=[{"weighted": 2 * W, "twice": [X, -X]}]
    )
    assert isinstance(traced, torch.jit.TopLevelTracedModule)
    assert traced.weighted(W * 3).tolist() == (net.lin.weight * 3).tolist()
    assert traced.twice(X, X).tolist() == (3 * X).tolist()
    assert type(traced).weighted.compiles == 1
    with pytest.raises(AttributeError, match="no attribute 'forward'"):
        traced(X)


@pytest.mark.parametrize("name", ["forward", "weighted"])
def test_a_traced_method_is_compared_with_inputs_to_check(net, name):
    setattr(net, name, lambda x: x + int(torch.jit.is_tracing() and len(x) == 2))
    more = [{name: torch.ones(2)}]
    with pytest.raises(torch.jit.TracingCheckError, match="Output nr 1"):
        torch.jit.trace_module(net, {name: X}, check_inputs=more)
    torch.jit.trace_module(net, {name: X}, check_trace=False, check_inputs=more)


def test_forward_is_traced_by_name(net):
    net.forward = lambda x: x * 2
    x = torch.ones(2)
    assert torch.jit.trace_module(net, {"forward": x})(x).tolist() == [2, 2]
    given = {"forward": {"x": x}}
    assert torch.jit.trace_module(net, given, example_inputs_is_kwarg=True)(x=x).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("inputs", "check_inputs", "error", "words"),
    [
        ({"nope": X}, None, AttributeError, "has no attribute 'nope'"),
        (3, None, AttributeError, "expected a dictionary of"),
        ({"weighted": W}, [{"twice": (W, W)}], RuntimeError, "Method 'weighted' is not defined"),
        ({"weighted": W}, [(W,)], AttributeError, "'tuple' object has no attribute 'items'"),
        ({"weighted": W}, 3, TypeError, "'int' object is not iterable"),
    ],
)
def test_what_trace_module_refuses(net, inputs, check_inputs, error, words):
    with pytest.raises(error, match=words):
        torch.jit.trace_module(net, inputs, check_inputs=check_inputs)


def test_trace_module_takes_modules():
    with pytest.raises(AttributeError, match=r"expected torch\.nn\.Module"):
        torch.jit.trace_module(lambda x: x, {"forward": X})


def test_what_is_traced_or_scripted_says_its_type_as_pytorchs_does():
    class Mine(torch.nn.Module):
        def forward(self, x):
            return x + 1

    traced, scripted = torch.jit.trace(Mine(), torch.ones(2)), torch.jit.script(Mine())
    names = [type(module).__name__ for module in (traced, scripted)]
    assert names == ["TopLevelTracedModule", "RecursiveScriptModule"]
    assert isinstance(traced, torch.jit.TopLevelTracedModule)
    assert [repr(traced), repr(scripted)] == [
        "Mine(original_name=Mine)",
        "RecursiveScriptModule(original_name=Mine)",
    ]
    assert traced.original_name == "Mine"
