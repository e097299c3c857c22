"""What programs do under a FakeTensorMode, against PyTorch's: results as they print, errors by
class; constants through writes; tags of operators."""

import importlib
import warnings

import numpy as np
import pytest

import torchlike
from torchlike.ops._aten import schemas

torch = pytest.importorskip("torch")


def inplace(t, real):
    x = t.tensor(4.0)
    y = x.add_(1)
    return x.item(), y.item(), y is x


def through_a_view(t, real):
    x = t.tensor([4.0])
    x[:].mul_(3)
    return x.item()


def unknown(t, real):
    x = t.tensor([4.0])
    x.add_(t.rand(1))
    return x.item()


def unknown_through_a_view(t, real):
    x = t.tensor([4.0])
    x[:].add_(t.rand(1))
    return x.item()


def resized(t, real):
    return t.tensor([1]).resize_([2]).tolist()


def expanded(t, real):
    x = t.tensor([1])
    y = x.expand([4])
    known = y.constant
    y[0] = 1
    return known, x.item()


def drawn(t, real):
    return t.tensor([1.0]).uniform_().item()


def out(t, real):
    x = t.tensor(1.0)
    t.add(t.tensor(1.0), t.tensor(2.0), out=x)
    return x.item()


def out_unknown(t, real):
    x = t.tensor(1.0)
    t.add(t.rand(()), t.tensor(2.0), out=x)
    return x.item()


def layers(t, real):
    nn = t.nn
    made = (
        nn.BatchNorm2d(4),
        nn.LSTM(4, 4),
        nn.LayerNorm(3),
        nn.Embedding(3, 4),
        nn.TransformerEncoderLayer(8, 2, 16),
    )
    return [(k, str(v)) for m in made for k, v in m.state_dict().items()]


def adam(t, real):
    m = t.nn.Linear(2, 2)
    optimizer = t.optim.Adam(m.parameters())
    m(t.ones(1, 2)).sum().backward()
    optimizer.step()
    return m.weight


def loaded(t, real):
    m = t.nn.BatchNorm1d(2)
    return m.load_state_dict(t.nn.BatchNorm1d(2).state_dict())


def views_in_place(t, real):
    x, y, z = t.zeros(3, 4), t.zeros(3, 1), t.zeros(2, 2)
    x.unsqueeze_(0).swapaxes_(1, 2)
    return x.shape, x.stride(), y.squeeze_().shape, y.shape, z.resize_(3, 3).shape


def mixed(t, real):
    mode = importlib.import_module(f"{t.__name__}._subclasses.fake_tensor").FakeTensorMode
    return mode().from_tensor(real) + mode().from_tensor(real)


PROGRAMS = [
    inplace,
    through_a_view,
    unknown,
    unknown_through_a_view,
    resized,
    expanded,
    drawn,
    out,
    out_unknown,
    layers,
    adam,
    loaded,
    mixed,
    views_in_place,
    lambda t, real: t.tensor([1, 2]).tolist(),
    lambda t, real: (bool(t.tensor(3) > 2), float(t.tensor(2) + t.tensor(1.5))),
    lambda t, real: t.zeros(1).copy_(t.tensor([5.0])).item(),
    lambda t, real: t.bernoulli(t.tensor(0.5)).item(),
    lambda t, real: t.arange(t.tensor(3).item()).shape,
    lambda t, real: str(real),
    lambda t, real: real + t.ones(2),
    lambda t, real: t.randn(4, 4)[[0, 1]].shape,
    lambda t, real: t.unique(t.zeros(3)),
    lambda t, real: t.from_numpy(np.ones(2, np.float32)),
    lambda t, real: t.nn.init.orthogonal_(t.nn.Linear(2, 2).weight),
    lambda t, real: t.nn.init.eye_(t.nn.Linear(2, 2).weight),
    lambda t, real: t.nn.Parameter(real),
]


def said(t, program):
    real = t.ones(2)
    fakes = importlib.import_module(f"{t.__name__}._subclasses.fake_tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with fakes.FakeTensorMode():
                return str(program(t, real))
        except (RuntimeError, AssertionError) as error:
            return type(error).__name__


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_under_a_mode(program):
    assert said(torchlike, program) == said(torch, program)


def test_to_a_gpu_that_is_not_there_and_back():
    from torchlike._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torchlike.ones(2).cuda()
        assert str(x.device) == "cuda:0"
        assert str(x.cpu().device) == "cpu"


def test_tags():
    """All overloads whose schemas are known."""
    count = 0
    for name in dict.fromkeys([*schemas.table(), *(f"{n}_" for n in schemas.table())]):
        theirs = getattr(torch.ops.aten, name, None) if schemas.overloads_of(name) else None
        for overload in schemas.overloads_of(name) if theirs is not None else ():
            if (overload or "default") not in theirs.overloads():
                continue
            count += 1
            tags = [
                [tag.name for tag in getattr(packet, overload or "default").tags]
                for packet in (getattr(torchlike.ops.aten, name), theirs)
            ]
            assert tags[0] == sorted(tags[1]), (name, overload)
    assert count > 2000
