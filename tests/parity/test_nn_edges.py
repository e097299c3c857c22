"""Functions and modules of nn at the edges of what they take, against PyTorch."""

import pytest
from answers import answer, source

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

NAMES = "F = t.nn.functional; o = t.ones; "
#: Compared with the words of the error.
IN_WORDS = """
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
t.nn.ParameterList([t.nn.Parameter(t.empty(1, device='meta'))])
t.nn.ParameterDict({'a': t.nn.Parameter(t.empty(1, device='meta'))})
t.empty(1, device='meta').type()
t.nn.Linear(1, 1).to('cpu', t.float64, copy=True)
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
    assert answer(function, torchlike, words=True) == answer(function, torch, words=True)


@pytest.mark.parametrize("line", REFUSED)
def test_refused_as_by_pytorch(line):
    function = source(NAMES + line)
    assert answer(function, torchlike) == answer(function, torch)
    assert answer(function, torchlike)[0] == "raised"


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

    def refused(t):
        registering(t).left_out = t.nn.Buffer(t.ones(1), persistent=False)

    said = answer(refused, torchlike, words=True)
    assert said == answer(refused, torch, words=True)
    assert said[0] == "raised"
