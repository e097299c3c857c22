"""``pipeline`` cuts a model, which computes the same in its parts."""

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed.pipelining import Pipe, SplitPoint, pipe_split, pipeline
from torchlike.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    merge_chunks,
    split_args_kwargs_into_chunks,
)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.parts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, mask, bias=None):
        h = torch.tanh(x)
        x = self.parts[0](x) * mask
        x, y = self.parts[1](x), x.sin()
        pipe_split()
        x = self.parts[2](x)
        pipe_split()
        x = self.parts[3](x) * self.scale + h + y
        return {"out": x, "masked": x * mask}


def test_values_travel_over_several_stages():
    model = Model()
    x, mask = torch.randn(3, 4), torch.ones(3, 4)
    pipe = pipeline(model, (x, mask))
    assert isinstance(pipe, Pipe)
    assert pipe.num_stages == pipe.info().num_stages == 3
    found, expected = pipe(x, mask), model(x, mask)
    assert found.keys() == expected.keys()
    assert all(found[k].equal(expected[k]) for k in found)
    names = [{n for n, _ in pipe.get_stage_module(i).named_parameters()} for i in range(3)]
    assert names[1] == {"parts.2.weight", "parts.2.bias"}
    assert set().union(*names) == {n for n, _ in model.named_parameters()}


def test_stages_train_the_parameters_of_the_model():
    model = Model()
    x, mask = torch.randn(3, 4), torch.ones(3, 4)
    pipeline(model, (x, mask))(x, mask)["out"].sum().backward()
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    model(x, mask)["out"].sum().backward()
    for mine, p in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(mine, p.grad)


def test_cuts_by_name():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), nn.Tanh())
    spec = {"1.1": SplitPoint.BEGINNING, "1": SplitPoint.END}
    pipe = pipeline(model, (torch.zeros(1, 2),), split_spec=spec)
    assert pipe.num_stages == 3
    x = torch.randn(5, 2)
    assert pipe(x).equal(model(x))
    with pytest.raises(AttributeError):
        pipeline(model, (x,), split_spec={"7": SplitPoint.END})
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(model, (x,), split_spec=spec, split_policy=lambda g: g)
    with pytest.raises(ValueError, match="Invalid stage index 3"):
        pipe.get_stage_module(3)


def test_chunks():
    x, y = torch.arange(6.0).reshape(6, 1), torch.arange(8.0).reshape(2, 4)
    args, kwargs = split_args_kwargs_into_chunks(
        (x, "word"), {"y": y}, 4, None, {"y": TensorChunkSpec(1)}
    )
    assert [len(a[0]) for a in args] == [2, 2, 1, 1]
    assert [a[1] for a in args] == ["word"] * 4
    assert [tuple(k["y"].shape) for k in kwargs] == [(2, 1)] * 4
    assert merge_chunks([a[0] for a in args], None).equal(x)
    assert merge_chunks([k["y"] for k in kwargs], TensorChunkSpec(1)).equal(y)
    assert len(split_args_kwargs_into_chunks((x[:2],), None, 4)[0]) == 2
    with pytest.raises(AssertionError, match=r"args_dict\.keys"):
        split_args_kwargs_into_chunks((x, y), None, 2, (TensorChunkSpec(0),))
