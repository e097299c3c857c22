"""SyncBatchNorm in a world of one process."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


def of_a_step(t):
    x = np.random.default_rng(0).standard_normal((4, 3, 5)).astype(np.float32)
    m = t.nn.SyncBatchNorm(3, momentum=0.3, process_group="all")
    given = t.tensor(x).requires_grad_()
    out = m(given)
    out.pow(3).sum().backward()
    kept = [v.numpy() for v in m.state_dict().values()]
    return [out.detach().numpy(), given.grad.numpy(), *kept, m.eval()(given).detach().numpy()]


def test_a_step():
    for ours, theirs in zip(of_a_step(torchlike), of_a_step(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def of_a_conversion(t):
    inner = t.nn.Sequential(t.nn.BatchNorm1d(4, momentum=0.3))
    m = t.nn.Sequential(
        t.nn.Conv2d(3, 4, 1), t.nn.BatchNorm2d(4, affine=False), inner, t.nn.InstanceNorm2d(3)
    ).eval()
    converted = t.nn.SyncBatchNorm.convert_sync_batchnorm(m, "all")
    alone = t.nn.BatchNorm2d(4)
    made = t.nn.SyncBatchNorm.convert_sync_batchnorm(alone)
    return (
        repr(converted),
        converted is m,
        converted[1].training,
        converted[1].process_group,
        list(converted.state_dict()),
        made.weight is alone.weight,
        made.running_mean is alone.running_mean,
        isinstance(made, t.nn.SyncBatchNorm),
        isinstance(alone, t.nn.SyncBatchNorm),
    )


def test_a_conversion():
    assert of_a_conversion(torchlike) == of_a_conversion(torch)


@pytest.mark.parametrize("shape", [(3,), (3, 0)])
def test_inputs_that_are_refused(shape):
    said = []
    for t in (torchlike, torch):
        with pytest.raises(ValueError, match=r"2D|non-zero") as caught:
            t.nn.SyncBatchNorm(4)(t.ones(shape))
        said.append(str(caught.value))
    assert said[0] == said[1]
