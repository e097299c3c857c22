"""``torch.compile(module)`` and ``torchlike.jit(module)``: a module that calls another compiled."""

import copy
import pickle

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike._dynamo import OptimizedModule


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("scale", torch.ones(1))
        self.factor = 2.0

    def forward(self, x):
        return self.drop(self.linear(x)) * self.scale * self.factor

    def __len__(self):
        return 7


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


X = torch.tensor([[1.0, -2.0]])


def test_names_are_those_of_pytorchs_checkpoints(net):
    compiled = torch.compile(net)
    assert type(compiled) is OptimizedModule
    assert compiled._orig_mod is net
    names = ["_orig_mod.scale", "_orig_mod.linear.weight", "_orig_mod.linear.bias"]
    assert sorted(compiled.state_dict()) == sorted(names)
    assert [n for n, _ in compiled.named_parameters()] == names[1:]
    assert next(compiled.parameters()) is net.linear.weight
    with pytest.raises(RuntimeError, match=r"Missing key.*_orig_mod.scale"):
        compiled.load_state_dict(net.state_dict())
    compiled.load_state_dict({f"_orig_mod.{k}": v * 2 for k, v in net.state_dict().items()})
    assert net.scale.item() == 2.0


def test_attributes_are_the_wrapped_modules(net):
    compiled = torch.compile(net)
    compiled.factor, compiled.added = 3.0, 1
    assert (net.factor, net.added, len(compiled), bool(compiled)) == (3.0, 1, 7, True)
    del compiled.added
    assert not hasattr(net, "added")
    assert "factor" in dir(compiled)
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
        compiled.missing  # noqa: B018
    with pytest.raises(TypeError, match="does not support len"):
        len(torch.compile(nn.ReLU()))
    assert compiled.eval() is compiled
    assert (net.training, net.drop.training, compiled.training) == (False, False, False)
    compiled.train()
    assert net.drop.training
    assert compiled.to(torch.float64) is compiled
    assert net.linear.weight.dtype is torch.float64
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Net(\n")


def test_it_is_compiled_and_sees_what_changes(net):
    compiled = torch.compile(net.eval())
    want = net(X)
    for _ in range(3):
        np.testing.assert_allclose(compiled(X).detach().numpy(), want.detach().numpy(), rtol=1e-6)
    assert (compiled.forward.compiles, compiled.forward.ran_eagerly) == (1, False)
    compiled.factor = 4.0
    np.testing.assert_allclose(compiled(X).detach().numpy(), 2 * want.detach().numpy(), rtol=1e-6)
    net.scale = torch.full((1,), 3.0)
    np.testing.assert_allclose(compiled(X).detach().numpy(), 6 * want.detach().numpy(), rtol=1e-6)
    compiled.train()
    torch.manual_seed(1)
    dropped = compiled(X)
    torch.manual_seed(1)
    np.testing.assert_allclose(dropped.detach().numpy(), net(X).detach().numpy(), rtol=1e-6)


def test_it_trains_as_the_module_does(net):
    def run(model, jitted):
        opt = torch.optim.AdamW(model.parameters(), lr=0.1)

        def step():
            opt.zero_grad()
            loss = model(X).pow(2).sum()
            loss.backward()
            opt.step()
            return loss

        call = torch.jit(step) if jitted else step
        torch.manual_seed(2)
        return [call().item() for _ in range(4)]

    want = run(copy.deepcopy(net), False)
    np.testing.assert_allclose(run(torch.compile(copy.deepcopy(net)), False), want, rtol=1e-5)
    np.testing.assert_allclose(run(torch.compile(copy.deepcopy(net)), True), want, rtol=1e-5)


def test_hooks_of_both_run(net):
    compiled = torch.compile(net.eval())
    net.register_forward_hook(lambda m, args, out: out * 2)
    compiled.register_forward_hook(lambda m, args, out: out * 3)
    want = net(X) * 3
    np.testing.assert_allclose(compiled(X).detach().numpy(), want.detach().numpy(), rtol=1e-6)
    everywhere = torch.nn.modules.module.register_module_forward_hook(lambda m, args, out: None)
    with everywhere, pytest.warns(UserWarning, match="called once more"):
        compiled(X)


def test_jit_gives_one_too_that_answers_for_its_function(net):
    compiled = torch.jit(net, warmup=0)
    assert isinstance(compiled, OptimizedModule)
    assert torch.jit(compiled) is compiled
    assert compiled.eval() is compiled
    assert not net.training
    assert [n for n, _ in compiled.named_parameters()] == [
        "_orig_mod.linear.weight",
        "_orig_mod.linear.bias",
    ]
    seen = []
    compiled.register_forward_hook(lambda m, args, out: seen.append(m))
    want = net(X).detach().numpy()
    for _ in range(2):
        np.testing.assert_allclose(compiled(X).detach().numpy(), want, rtol=1e-6)
    assert seen == [compiled] * 2
    assert (compiled.compiles, len(compiled.programs()), compiled.ran_eagerly) == (1, 1, False)
    assert compiled.latest is not None
    compiled.reset()
    assert (compiled.programs(), compiled.latest) == ([], None)
    assert torch.jit.explain(compiled)(X).not_kept == ""
    assert torch.compiler.disable(compiled) is net
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
        compiled.missing  # noqa: B018


def test_names_of_the_module_come_first_and_pytorchs_has_no_others(net):
    assert not hasattr(torch.compile(net), "reset")  # libraries reset all modules that have it
    Net.reset = lambda self: "the module's"
    try:
        assert torch.jit(net).reset() == "the module's"
    finally:
        del Net.reset


@pytest.mark.parametrize("make", [torch.compile, torch.jit])
def test_mode_off_keeps_the_names(net, make):
    torch.jit.set_mode("off")
    try:
        plain = make(net)
    finally:
        torch.jit.set_mode("on")
    assert [n for n, _ in plain.named_buffers()] == ["_orig_mod.scale"]
    torch.manual_seed(1)
    want = net(X).detach().numpy()
    torch.manual_seed(1)
    np.testing.assert_array_equal(plain(X).detach().numpy(), want)


@pytest.mark.parametrize("make", [torch.compile, torch.jit])
def test_copies_and_pickles(net, make):
    compiled = make(net.eval())
    want = compiled(X).detach().numpy()
    again = pickle.loads(pickle.dumps(compiled))
    copied = copy.deepcopy(compiled)
    with torch.no_grad():
        net.linear.weight.zero_()
    for other in (again, copied):
        assert type(other) is type(compiled)
        np.testing.assert_allclose(other(X).detach().numpy(), want, rtol=1e-6)


def test_inside_another_module():
    seq = nn.Sequential(torch.compile(nn.Linear(2, 2)), nn.ReLU())
    assert sorted(seq.state_dict()) == ["0._orig_mod.bias", "0._orig_mod.weight"]
    assert seq(X).shape == (1, 2)
