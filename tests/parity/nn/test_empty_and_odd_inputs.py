"""Functions and modules of nn at the edges of what they take, against PyTorch."""

import warnings

import pytest
from oracle import compare, refused, source

import torchlike

torch = pytest.importorskip("torch")

NAMES = (
    "F = t.nn.functional; o = t.ones; "
    "heads = lambda k, v, **s: F.multi_head_attention_forward(*[o(3, 1, 4)] * 3, 4, 2, o(12, 4), "
    "None, k, v, False, 0., o(4, 4), None, **s); "
)
#: Compared with the words of the error.
IN_WORDS = """
t.nn.MultiheadAttention(4, 4)(o(4, 4), o(4, 4), o(4, 4), attn_mask=t.zeros(5, 4, 4))
heads(o(1, 1, 4), o(1, 1, 4), static_k=o(2, 3, 2))
heads(o(1, 1, 4), o(1, 1, 4), static_v=o(2, 3, 2))
heads(o(1, 1, 4), None)
F.linear(t.tensor(1.), o(2, 2))
F.linear(o(2), t.tensor(1.))
F.linear(o(2), o(2, 2, 2))
F.linear(o(4, 2), o(3, 2), o(2))
F.linear(o(4, 2), o(3, 2), o(1, 1, 3))
F.linear(o(5, 4, 2), o(3, 2), o(4, 3))
F.linear(o(5, 4, 2), o(3, 2), o(5, 4, 3))
F.linear(o(2), o(3, 2), o(1, 3))
F.bilinear(o(2, 3), o(2, 4), o(5, 3, 4), o(4))
F.bilinear(o(2, 3), o(3, 4), o(5, 3, 4))
F.bilinear(o(2, 3), o(2, 3), o(5, 3, 4))
F.bilinear(o(1, 3), o(2, 4), o(5, 3, 4))
F.bilinear(o(2, 3), o(4), o(5, 3, 4))
F.bilinear(o(2, 3).double(), o(2, 4), o(5, 3, 4))
F.grid_sample(o(2, 0, 6, 6), t.zeros(2, 5, 7, 2), align_corners=False)
F.grid_sample(o(0, 3, 6, 6), t.zeros(0, 5, 7, 2), align_corners=False)
F.grid_sample(o(2, 0, 2, 6, 6), t.zeros(2, 3, 5, 7, 3), align_corners=False)
F.grid_sample(o(2, 3, 0, 6), t.zeros(2, 5, 7, 2), align_corners=False)
F.grid_sample(o(1, 1, 2, 2), t.zeros(1, 1, 1, 1, 2), align_corners=False)
F.affine_grid(o(2, 2, 3), (1, 1, 2, 2), align_corners=False)
F.interpolate(o(1, 2, 4, 4), scale_factor=1e20)
F.interpolate(o(1, 2, 4, 4), scale_factor=float('nan'))
F.multi_margin_loss(o(4), t.tensor(1), reduction='none')
F.multi_margin_loss(o(4), t.tensor([1]), reduction='none')
F.multi_margin_loss(o(1, 4), t.tensor(1), reduction='none')
F.multi_margin_loss(t.ones(2, 3), t.tensor([[0, 1]]))
F.multilabel_margin_loss(t.ones(1), t.tensor(0))
F.multi_margin_loss(o(2, 0), t.zeros(2, dtype=t.int64))
F.multi_margin_loss(o(2, 2, 2), t.zeros(4, dtype=t.int64))
F.multilabel_margin_loss(o(2, 0), t.zeros(2, 0, dtype=t.int64))
F.unfold(o(3, 0, 3, 3), 2)
F.unfold(o(0, 3, 3, 3), 2)
F.fold(o(1, 0, 9), (4, 4), 2)
t.nn.ParameterList([t.nn.Parameter(t.empty(1, device='meta'))])
t.nn.ParameterDict({'a': t.nn.Parameter(t.empty(1, device='meta'))})
t.empty(1, device='meta').type()
t.nn.Linear(1, 1).to('cpu', t.float64, copy=True)
F.dropout1d(o(3))
F.dropout1d(o(2, 3, 4, 5))
F.pad(o(2, 0, 4), (1, 1), mode='reflect')
F.pad(o(2, 3, 0), (1, 1), mode='replicate')
F.pad(o(0, 3, 4, 4), (1, 1, 1, 1), mode='replicate')
F.max_unpool1d(o(0, 10, 5), o(0, 10, 5).long(), 2)
F.max_unpool2d(o(1, 0, 5, 5), o(1, 0, 5, 5).long(), 2)
F.max_unpool3d(o(0, 1, 2, 2, 2), o(0, 1, 2, 2, 2).long(), 2)
F.fractional_max_pool2d(o(1, 3, 4, 4), 2, output_size=(0, 1))
F.fractional_max_pool3d(o(1, 1, 4, 4, 4), 2, output_size=(0, 1, 1))
F.adaptive_avg_pool2d(o(1, 1, 2, 2), (2**61, 1))
""".strip().splitlines()
#: Compared with the error's type.
REFUSED = """
F.interpolate(o(1, 2, 4, 4), size=(2.5, 3))
F.interpolate(o(1, 2, 4, 4), size=(2, 'a'))
F.interpolate(o(1, 2, 4, 4), scale_factor='2')
t.nn.Linear(1, 1).to('cpu', 'cpu')
t.nn.Linear(1, 1).to(t.float32, t.float64)
t.nn.Linear(1, 1).to(t.float32, 'cpu')
t.nn.Linear(1, 1).to('cpu', t.float32, 2)
t.nn.Linear(1, 1).to(tensor=o(1), device='cpu')
t.nn.Linear(1, 1).to(t.float32, dtype=t.float32)
o(1).to('cpu', device='cpu')
o(1).to(o(1), dtype=t.float32)
o(1).to(other=o(1))
""".strip().splitlines()


@pytest.mark.parametrize("line", IN_WORDS)
def test_as_pytorch(line):
    function = source(NAMES + line)
    compare(function, exact=True)


@pytest.mark.parametrize("line", REFUSED)
def test_refused_as_by_pytorch(line):
    function = source(NAMES + line)
    refused(function, words=0)


#: Sizes without elements, and dtypes that batch norm takes for them alone.
EMPTY = [((0, 3, 2, 2), "float32"), ((2, 3, 0, 2), "float32"), ((0, 3, 2, 2), "float64")]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("size", "dtype"), EMPTY)
def test_batch_norm_of_nothing_moves_no_statistics(size, dtype, training, jit):
    def run(t):
        module = t.nn.BatchNorm2d(3).train(training)
        module.running_mean.fill_(2.0)
        x = t.ones(size, dtype=getattr(t, dtype), requires_grad=True)
        y = (torchlike.jit(module) if jit and t is torchlike else module)(x)
        y.sum().backward()
        grads = (x.grad, module.weight.grad, module.bias.grad)
        return (y.detach(), *grads, *module.buffers())

    compare(run, exact=True, words=0)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("dropout2d", (2, 3)),
        ("dropout2d", (2, 3, 4)),
        ("dropout2d", (2, 3, 4, 5)),
        ("dropout3d", (2, 3, 4)),
        ("dropout3d", (1, 2, 3, 4)),
        ("dropout3d", (1, 1, 2, 3, 4, 5)),
    ],
)
def test_dropout_of_channels_warns_of_other_dimensions(name, size):
    def warned(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(t.nn.functional, name)(t.ones(size), training=False)
        return [(w.category, str(w.message)) for w in caught]

    assert warned(torchlike) == warned(torch)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("size", [(2, 3), (1, 2, 3)])
def test_instance_norm_of_another_number_of_channels(size, affine):
    def said(t):
        module = t.nn.InstanceNorm1d(4, affine=affine)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                module(t.ones(size))
            except ValueError as error:
                return str(error)
        return [str(w.message) for w in caught]

    assert said(torchlike) == said(torch)


def test_complex_modules_are_warned_of():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        torchlike.nn.Linear(1, 1).to(torchlike.complex64)


#: How a name may be taken, and by what it may be taken over.
TAKEN = {
    "plain": lambda t, m: setattr(m, "q", 5),
    "tensor": lambda t, m: setattr(m, "q", t.ones(1)),
    "parameter": lambda t, m: setattr(m, "q", t.nn.Parameter(t.ones(1))),
    "no parameter": lambda t, m: m.register_parameter("q", None),
    "module": lambda t, m: setattr(m, "q", t.nn.Linear(1, 1)),
    "buffer": lambda t, m: m.register_buffer("q", t.ones(1), persistent=False),
}
TAKEN_OVER = {
    "a buffer": lambda t, m: setattr(m, "q", t.nn.Buffer(t.zeros(1))),
    "a parameter": lambda t, m: setattr(m, "q", t.nn.Parameter(t.zeros(1))),
    "a module": lambda t, m: setattr(m, "q", t.nn.ReLU()),
    "a tensor": lambda t, m: setattr(m, "q", t.zeros(1)),
    "nothing": lambda t, m: setattr(m, "q", None),
}


@pytest.mark.parametrize("old", TAKEN)
@pytest.mark.parametrize("new", TAKEN_OVER)
def test_names_that_are_taken(old, new):
    def run(t):
        module = t.nn.Module()
        TAKEN[old](t, module)
        TAKEN_OVER[new](t, module)
        tables = (module._parameters, module._buffers, module._modules, module.state_dict())
        return str([list(table) for table in tables]), "q" in vars(module)

    compare(run, exact=True, words=0)


@pytest.mark.parametrize(
    "name", ["byte", "char", "short", "int", "long", "half", "float", "double"]
)
def test_packed_sequences_are_converted(name):
    def run(t):
        packed = t.nn.utils.rnn.pack_sequence([t.ones(2), t.ones(1)])
        made = getattr(packed, name)()
        return made.data, made is packed

    compare(run, exact=True, words=0)


def registering(t):
    class Module(t.nn.Module):
        """Overrides `register_buffer` as it was before buffers could be left out of a state."""

        def register_buffer(self, name, value):
            super().register_buffer(name, value)

    return Module()


def test_a_buffer_in_a_module_whose_own_registration_knows_no_persistence():
    def named(t):
        module = registering(t)
        module.kept = t.nn.Buffer(t.ones(1))
        return list(module.state_dict())

    assert named(torchlike) == named(torch) == ["kept"]

    def left_out(t):
        registering(t).left_out = t.nn.Buffer(t.ones(1), persistent=False)

    refused(left_out)


@pytest.mark.parametrize("size", [(1, 1, 2, 1), (1, 1, 2, 2), (1, 1, 1, 2, 2)])
@pytest.mark.parametrize("corners", [True, False, None])
def test_grids_of_one_point_are_told_of(size, corners):
    theta = (1, len(size) - 2, len(size) - 1)
    compare(lambda t: t.nn.functional.affine_grid(t.ones(theta), size, corners), warned=300)
