"""assert_matches_eager: what it compares, what it puts back, how it refuses."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.testing import assert_aliases, assert_finite, assert_gradients, assert_matches_eager

X = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])


def training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, optimizer, step


@pytest.mark.parametrize("variant", ["jit", "warmup", "compiled"])
def test_a_training_step_and_its_state(variant):
    model, optimizer, step = training()
    before = {n: t.clone() for n, t in model.state_dict().items()}
    generator = torch.get_rng_state()
    assert_matches_eager(step, X, variant=variant, calls=3)
    for name, t in model.state_dict().items():
        assert t.equal(before[name]), name
    assert not optimizer.state
    assert torch.get_rng_state().equal(generator)
    step(X)  # goes on as if nothing had been


def test_a_fault_in_the_state_is_named():
    model, _, _ = training()

    def wrong(x):
        result = model(x).detach()
        if torch.compiler.is_compiling():
            with torch.no_grad():
                model[1].bias.add_(1)
        return result

    with pytest.raises(AssertionError, match=r"model\.1\.bias after the call"):
        assert_matches_eager(wrong, X, calls=1)


class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * (3 if torch.compiler.is_compiling() else 2)


def test_a_wrong_gradient_of_what_is_reached():
    table = {"w": [torch.nn.Parameter(torch.ones(3))]}
    with pytest.raises(AssertionError, match=r"in the gradient of table\['w'\]\[0\]"):
        assert_matches_eager(lambda x: Slope.apply(table["w"][0]) * x, X)


def test_methods_modules_and_compiled_functions():
    layer = torch.nn.Linear(3, 2)
    assert_matches_eager(layer, X)
    assert_matches_eager(layer.forward, X)
    assert_matches_eager(torch.jit(layer), X)
    assert_matches_eager(torch.compile(layer), X)


calls_so_far = 0


class Ring(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.at, self.seen, self.by_name, self.kinds = 0, [], {}, set()
        self.data = np.zeros(2)
        self.register_buffer("total", torch.zeros(()))

    def push(self, x):
        global calls_so_far
        calls_so_far += 1
        self.at += 1
        self.seen.append(self.at)
        self.by_name[self.at] = "x"
        self.kinds.add(self.at)
        self.data[0] += 1
        self.total = self.total + x.sum()
        self.made = True
        return x * self.at * len(self.seen) * len(self.by_name) * calls_so_far + self.total


@pytest.mark.filterwarnings("ignore:.*cannot be kept.*:RuntimeWarning")
def test_python_values_are_put_back():
    ring, start, total = Ring(), calls_so_far, 0

    def count(x):
        nonlocal total
        total += 1
        return ring.push(x) * total

    total_before = ring.total
    assert_matches_eager(count, X)
    assert (ring.at, ring.seen, ring.by_name, ring.kinds) == (0, [], {}, set())
    assert ring.data.tolist() == [0, 0]
    assert (total, calls_so_far) == (0, start)
    assert ring.total is total_before
    assert not hasattr(ring, "made")


def test_python_values_that_change_are_named():
    ring = Ring()

    def wrong(x):
        ring.at += 1
        return x * (2 if torch.compiler.is_compiling() else 1)

    with pytest.raises(AssertionError) as error:
        assert_matches_eager(wrong, X, calls=1)
    assert "changes Python values: ring.at." in error.value.__notes__[0]


def test_errors_are_compared():
    def refusing(x):
        raise KeyError("no")

    assert_matches_eager(refusing, X)

    def eagerly_only(x):
        if not torch.compiler.is_compiling():
            raise KeyError("no")
        return x

    with pytest.raises(AssertionError, match="jit gives a result where eager raises KeyError"):
        assert_matches_eager(eagerly_only, X)


def test_arguments_that_share_memory_do_so_in_each_run():
    def write(whole, row):
        row.add_(1)
        return whole * 2

    x = X.clone()
    assert_matches_eager(write, x, x[0])
    assert x.equal(X)


def test_what_cannot_be_copied_is_refused():
    x = X.clone().requires_grad_()
    with pytest.raises(ValueError, match=r"argument 1 was computed from tensors"):
        assert_matches_eager(torch.add, X, x * 2)


def test_a_gradient_without_a_tensor():
    with pytest.raises(ValueError, match="expects a floating point or complex tensor"):
        assert_gradients(torch.neg, torch.arange(3))
    with pytest.raises(ValueError, match="order must be 1 or more"):
        assert_gradients(torch.neg, X, order=0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_orders_of_gradients(order):
    assert_gradients(lambda a, n, b: {"y": (a**n) * b}, X, 3, torch.tensor(1 + 2j), order=order)


def test_errors_of_a_function_that_is_to_be_finite():
    with pytest.raises(KeyError):
        assert_finite(lambda x: {}["no"], X)


def test_aliases():
    assert_aliases(X[:, 1], X)
    assert_aliases(X.t()[1:], X[:, ::2])
    with pytest.raises(AssertionError, match="do not overlap"):
        assert_aliases(X[0], X[1])
    with pytest.raises(AssertionError, match="memory of their own"):
        assert_aliases(X.clone(), X)
    with pytest.raises(TypeError, match="b is ndarray"):
        assert_aliases(X, X.numpy())
