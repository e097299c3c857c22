"""A step of a batch that the caller has cut into microbatches (PyTorch 2.14)."""

import pytest

import torchlike as torch
import torchlike.distributed as dist
from torchlike import nn
from torchlike.distributed.pipelining import PipelineStage, ScheduleGPipe


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(3, 3)

    def forward(self, x, scale=1.0):
        return self.a(x) * scale


@pytest.fixture(scope="module")
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def schedule(loss=nn.functional.mse_loss):
    stage = PipelineStage(Scaled(), 0, 1, torch.device("cpu"))
    return ScheduleGPipe(stage, 2, loss_fn=loss), stage.submod


def batch():
    torch.manual_seed(1)
    return torch.randn(4, 3), torch.rand(4, 1), torch.randn(4, 3)


def test_a_cut_batch_gives_what_the_whole_one_gives(alone):
    x, scale, y = batch()
    whole, model = schedule()
    expected_losses, losses = [], []
    expected = whole.step(x, scale=scale, target=y, losses=expected_losses)
    cut, again = schedule()
    found = cut.step(
        arg_mbs=[(part,) for part in x.chunk(2)],
        kwarg_mbs=[{"scale": part} for part in scale.chunk(2)],
        target_mbs=list(y.chunk(2)),
        losses=losses,
    )
    assert torch.equal(found, expected)
    assert [a.item() for a in losses] == [a.item() for a in expected_losses]
    assert torch.equal(again.a.weight.grad, model.a.weight.grad)


def test_eval_takes_a_cut_batch(alone):
    x, _, y = batch()
    cut, model = schedule()
    with torch.no_grad():
        found = cut.eval(arg_mbs=[(part,) for part in x.chunk(2)], target_mbs=list(y.chunk(2)))
    torch.testing.assert_close(found, model(x))
    assert model.a.weight.grad is None


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "words"),
    [
        ((1,), {}, ValueError, "pass pre-split positional inputs through arg_mbs"),
        ((), {"scale": 1, "b": 2}, ValueError, "with pre-split inputs: b, scale. Pass"),
        ((), {"target": 1}, ValueError, "through target_mbs=... instead of target="),
        ((), {"arg_mbs": ((1,), (1,))}, TypeError, "arg_mbs must be a list but got a <class 'tu"),
        ((), {"arg_mbs": [(1,)]}, ValueError, "Expecting 2 arg_mbs but got 1"),
        ((), {"target_mbs": [1]}, ValueError, "Expecting 2 target_mbs but got 1"),
        ((), {"arg_mbs": [(1,), 2]}, TypeError, r"list of tuples, but arg_mbs\[1\] is a <class 'i"),
        ((), {"kwarg_mbs": [(), {}]}, TypeError, r"list of dicts, but kwarg_mbs\[0\] is a <class"),
    ],
)
def test_bad_parts_are_refused_in_pytorchs_words(alone, args, kwargs, error, words):
    given = {"arg_mbs": [(1,), (2,)], **kwargs}
    with pytest.raises(error, match=words):
        schedule()[0].step(*args, **given)


def test_a_loss_needs_the_cut_targets(alone):
    with pytest.raises(TypeError, match="no target= on the last stage"):
        schedule()[0].step(arg_mbs=[(torch.ones(1, 3),)] * 2)
