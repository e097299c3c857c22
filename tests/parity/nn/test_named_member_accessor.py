"""torch.nn.utils._named_member_accessor against PyTorch: how libraries swap a module's tensors."""

import copy
import importlib

import pytest
from oracle import compare, refused

import torchlike

torch = pytest.importorskip("torch")


def lib(t):
    return importlib.import_module(f"{t.__name__}.nn.utils._named_member_accessor")


def model(t):
    made = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    with t.no_grad():
        for p in made.parameters():
            p.fill_(0.5)
    return made


def test_tensors_come_and_go():
    def run(t):
        net = model(t)
        own = lib(t).NamedMemberAccessor(net)
        x = t.ones(3, 2)
        before = own.swap_tensor("0.weight", t.zeros(2, 2))
        said = [before is not net[0].weight, type(net[0].weight).__name__, net[0](x)]
        own.set_tensor("0.weight", before)
        said += [type(net[0].weight).__name__, net[0](x).detach(), own.get_tensor("1.running_mean")]
        old, missing = own.swap_tensors_dict({"0.bias": t.ones(2), "1.extra": t.ones(1)}, True)
        said += [missing, net[0](x).detach(), net[1].extra]
        own.swap_tensors_dict(old, True)
        said += [hasattr(net[1], "extra"), own.check_keys(["0.weight", "9.bias"])]
        own.del_tensors(["0.bias"])
        inner = own.swap_submodule("0", t.nn.Linear(2, 1))
        new = lib(t).NamedMemberAccessor(net).get_tensor("0.weight")
        return [
            *said,
            [n for n, _ in own.named_tensors()],
            tuple(new.shape),
            tuple(inner.weight.shape),
        ]

    compare(run)


WRONG = {
    "no module": lambda t: lib(t).set_tensor(1, "weight", None),
    "no tensor": lambda t: lib(t).set_tensor(t.nn.ReLU(), "weight", 3),
    "dotted": lambda t: lib(t).swap_tensor(t.nn.ReLU(), "a.b", None),
    "empty": lambda t: lib(t).swap_tensor(t.nn.ReLU(), "", None),
    "missing": lambda t: lib(t).swap_tensor(t.nn.ReLU(), "weight", None),
    "an attribute": lambda t: lib(t).swap_tensor(t.nn.ReLU(), "inplace", None),
    "no submodule": lambda t: lib(t).swap_submodule(t.nn.ReLU(), "a", t.nn.ReLU()),
    "deep": lambda t: lib(t).NamedMemberAccessor(model(t)).get_tensor("0.no.weight"),
}


@pytest.mark.parametrize("case", WRONG)
def test_refusals(case):
    refused(WRONG[case])


def test_after_an_error_all_is_as_it_was():
    def run(t):
        net = model(t)
        before = dict(net.named_parameters())
        own = lib(t).NamedMemberAccessor(net)
        try:
            own.swap_tensors_dict({"0.weight": t.zeros(2, 2), "0.none": t.zeros(1)})
        except RuntimeError as error:
            said = str(error)
        return said, [before[n] is p for n, p in net.named_parameters()], hasattr(net[0], "none")

    compare(run)


def test_a_compiled_program_sees_the_swap():
    net = model(torchlike)
    step = torchlike.jit(lambda x: net[0](x))
    x = torchlike.ones(3, 2)
    first = step(x)
    lib(torchlike).set_tensor(net[0], "weight", torchlike.zeros(2, 2))
    assert torchlike.equal(step(x), net[0](x))
    assert not torchlike.equal(step(x), first)


def test_a_buffer_of_a_parameter():
    def run(t):
        held = t.nn.Module()
        p = t.nn.Parameter(t.ones(2))
        held.register_buffer("b", t.zeros(2))
        held.b = t.nn.Buffer(p)
        made = t.nn.Buffer(p)
        return (
            [n for n, _ in held.named_buffers()],
            [n for n, _ in held.named_parameters()],
            isinstance(made, t.nn.Parameter),
            made.requires_grad,
            made is p,
        )

    compare(run)


def test_hooks_on_loading_as_libraries_call_them():
    def run(t):
        seen = []
        net = t.nn.Linear(1, 1)
        net.register_load_state_dict_pre_hook(lambda m, *a: seen.append((m is net, len(a))))
        net._register_load_state_dict_pre_hook(lambda *a: seen.append(len(a)))
        for hook in net._load_state_dict_pre_hooks.values():
            hook({}, "", {}, True, [], [], [])
        twin = copy.deepcopy(net)
        twin.register_load_state_dict_pre_hook(lambda m, *a: seen.append(m is twin))
        twin.load_state_dict(net.state_dict())
        return seen

    compare(run)
