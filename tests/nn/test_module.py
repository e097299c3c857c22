"""Module: registration, traversal, conversion, copying; what PyTorch's users rely on."""

import copy
import pickle

import pytest

import torchlike as torch
import torchlike.nn as nn
from torchlike import random


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.register_buffer("scale", torch.ones(3))
        self.register_buffer("scratch", torch.ones(1), persistent=False)
        self.act = nn.ReLU()
        self.width = 3

    def forward(self, x, times=1):
        return self.act(self.linear(x)) * self.scale * times


def test_assignment_registers_and_iteration_finds():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["linear.weight", "linear.bias"]
    assert [n for n, _ in net.named_buffers()] == ["scale", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "linear", "act"]
    assert [n for n, _ in net.named_children()] == ["linear", "act"]
    assert list(net.state_dict()) == ["scale", "linear.weight", "linear.bias"]
    assert "linear" in dir(net)
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_shared_parameters_and_modules_are_met_once():
    layer = nn.Linear(2, 2)
    both = nn.Sequential(layer, layer)
    assert len(list(both.parameters())) == 2
    assert [n for n, _ in both.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
    ]
    assert len(list(both.modules())) == 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", 3, "cannot assign 'int' as parameter 'weight' .torch.nn.Parameter or None"),
        ("weight", torch.ones(1), "cannot assign 'torch.FloatTensor' as parameter 'weight'"),
    ],
)
def test_a_parameter_is_only_rebound_to_a_parameter(name, value, message):
    with pytest.raises(TypeError, match=message):
        setattr(nn.Linear(1, 1), name, value)


def test_modules_and_buffers_are_only_rebound_to_their_kind():
    net = Net()
    with pytest.raises(TypeError, match=r"as child module 'act' \(torch.nn.Module or None"):
        net.act = 3
    with pytest.raises(TypeError, match="as buffer 'scale'"):
        net.scale = 3
    net.scale = None
    assert "scale" not in net.state_dict()
    net.act = nn.Tanh()
    assert isinstance(net.act, nn.Tanh)
    net.linear.bias = None
    assert net.linear.bias is None


def test_a_parameter_takes_the_place_of_a_plain_attribute():
    net = Net()
    net.width = nn.Parameter(torch.ones(1))
    assert "width" not in vars(net)
    assert "width" in dict(net.named_parameters())
    del net.width
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'width'"):
        net.width  # noqa: B018


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a.b", KeyError, "name can.*t contain"),
        ("", KeyError, "name can.*t be empty string"),
        ("forward", KeyError, "attribute 'forward' already exists"),
        (3, TypeError, "name should be a string. Got int"),
    ],
)
def test_names_are_checked(name, error, message):
    for register, value in (
        ("register_buffer", torch.ones(1)),
        ("register_parameter", nn.Parameter(torch.ones(1))),
        ("add_module", nn.ReLU()),
    ):
        with pytest.raises(error, match=message):
            getattr(Net(), register)(name, value)


def test_values_are_checked():
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer 'b'"):
        nn.Module().register_buffer("b", 3)
    with pytest.raises(TypeError, match="cannot assign 'int' object to parameter 'p'"):
        nn.Module().register_parameter("p", 3)
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Module().add_module("m", 3)
    history = nn.Parameter(torch.ones(1))
    history._node = (torch.ones(1, requires_grad=True) * 2).grad_fn
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'p'"):
        nn.Module().register_parameter("p", history)


def test_forgetting_super_init_is_said():
    class Forgetful(nn.Module):
        def __init__(self, value):
            self.value = value

    for value, kind in ((nn.ReLU(), "module"), (nn.Parameter(torch.ones(1)), "parameters")):
        with pytest.raises(AttributeError, match=f"cannot assign {kind} before Module.__init__"):
            Forgetful(value)
    with pytest.raises(AttributeError, match="has no attribute 'training'"):
        Forgetful(3).training  # noqa: B018
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'a'"):
        nn.Module(a=3)


def test_dotted_paths():
    net = Net()
    assert net.get_submodule("linear") is net.linear
    assert net.get_submodule("") is net
    assert net.get_parameter("linear.weight") is net.linear.weight
    assert net.get_buffer("scale") is net.scale
    with pytest.raises(AttributeError, match="Net has no attribute `z`"):
        net.get_submodule("z")
    with pytest.raises(AttributeError, match=r"`weight` is not an nn\.Module"):
        net.get_submodule("linear.weight")
    with pytest.raises(AttributeError, match=r"`scale` is not an nn\.Parameter"):
        net.get_parameter("scale")
    with pytest.raises(AttributeError, match="`linear` is not a buffer"):
        net.get_buffer("linear")
    net.set_submodule("act", nn.Sigmoid())
    assert isinstance(net.act, nn.Sigmoid)


def test_train_and_eval_reach_all():
    net = Net()
    assert net.eval() is net
    assert not net.training
    assert not net.linear.training
    net.train()
    assert net.act.training
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train(3)


def test_conversions_keep_the_parameter_objects():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    before = net.linear.weight
    assert net.double() is net
    assert net.linear.weight is before
    assert before.dtype is torch.float64
    assert before.grad.dtype is torch.float64
    assert net.scale.dtype is torch.float64
    net.register_buffer("count", torch.zeros((), dtype=torch.int64))
    net.to(torch.bfloat16)
    assert (before.dtype, net.count.dtype) == (torch.bfloat16, torch.int64)
    net.float().half().float().cpu().to("cpu").to(torch.ones(1, dtype=torch.float64))
    assert before.dtype is torch.float64
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(torch.int64)
    with pytest.raises(TypeError, match="invalid combination"):
        net.to(3.5)


def test_channels_last_reaches_convolutions():
    conv = nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
    assert conv.weight.stride() == (18, 1, 6, 2)
    assert conv.bias.stride() == (1,)


def test_zero_grad_apply_requires_grad():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.linear.weight.grad.tolist() == [[0, 0]] * 3
    net.zero_grad()
    assert net.linear.weight.grad is None
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Net"]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_deepcopy_and_pickle_are_independent():
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    net.compile()
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(nn.Linear(2, 3)))):
        assert all(type(p) is nn.Parameter and p.requires_grad for p in made.parameters())
    made = copy.deepcopy(net)
    assert made.linear.weight.grad is None
    with torch.no_grad():
        made.linear.weight.fill_(7)
    assert not (net.linear.weight == 7).any()
    assert made(torch.ones(1, 2)).shape == (1, 3)
    layer = nn.Linear(2, 3)
    again = pickle.loads(pickle.dumps(layer))
    assert again.weight.tolist() == layer.weight.tolist()
    assert repr(again) == repr(layer)


def test_compile_compiles_forward_and_hooks_still_run():
    net = nn.Linear(2, 2)
    x = torch.ones(3, 2)
    expected = net(x)
    net.compile()
    calls = []
    net.register_forward_hook(lambda m, args, out: calls.append(1))
    for _ in range(3):
        assert torch.allclose(net(x), expected)
    assert len(calls) == 3
    assert net._compiled_call_impl.compiles == 1


def test_repr():
    net = Net()
    net.many = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.Sequential(nn.Tanh())])
    assert repr(net) == (
        "Net(\n"
        "  (linear): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (act): ReLU()\n"
        "  (many): ModuleList(\n"
        "    (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n"
        "    (2): Sequential(\n"
        "      (0): Tanh()\n"
        "    )\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"


def test_a_seed_gives_the_same_weights():
    random.manual_seed(0)
    weight = nn.Linear(2, 2).weight
    assert [round(v, 4) for v in weight.reshape(-1).tolist()] == [-0.0053, 0.3793, -0.5820, -0.5204]


def test_jit_finds_parameters_buffers_and_the_training_flag():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))

    @torch.jit
    def step(x):
        net.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        return loss

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    for i in range(3):
        step(x)
        assert net[1].num_batches_tracked.item() == i + 1
    assert net[0].weight.grad is not None
    assert step.compiles == 1
    net.eval()
    frozen = net[1].running_mean.tolist()
    step(x)
    assert net[1].running_mean.tolist() == frozen
    net.train()
    step(x)
    assert step.compiles == 2
    net[0].weight = nn.Parameter(torch.zeros(3, 2))
    step(x)
    assert step.compiles == 3
    assert net[0].weight.grad is not None


def test_jit_follows_a_buffer_that_is_rebound():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x):
            self.total = self.total + x
            return self.total * 1

    counter = Counter()
    run = torch.jit(lambda x: counter(x))
    for i in range(1, 4):
        assert run(torch.ones(2)).tolist() == [i, i]
        assert counter.total.tolist() == [i, i]
    assert run.compiles == 1


def test_the_namespace_has_layers_and_its_own_submodules():
    assert nn.utils.__name__ == "torchlike.nn.utils"
    assert nn.init.__name__ == "torchlike.nn.init"
    assert nn.modules.linear.Linear is nn.Linear
    assert not hasattr(nn, "linear")
