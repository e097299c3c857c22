"""The adaptive softmax: errors, and what compiled code cannot check."""

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn


@pytest.mark.parametrize("cutoffs", [[], [3, 2], [3, 3], [0, 3], [3, 10], [3.5]])
def test_cutoffs_are_checked(cutoffs):
    with pytest.raises(ValueError, match="cutoffs should be a sequence of"):
        nn.AdaptiveLogSoftmaxWithLoss(4, 10, cutoffs)


@pytest.mark.parametrize(
    ("shape", "target", "words"),
    [
        ((2, 4), [1, 2, 3], "same size in the batch dimension"),
        ((2, 4), 1, "0D target tensor expects 1D input tensors"),
        ((1, 4), [[1]], "multi-target not supported"),
        ((2, 4), [1, 12], r"should be in \[0, 9\], but values in range \[1, 12\]"),
    ],
)
def test_shapes_and_targets_are_checked(shape, target, words):
    module = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])
    with pytest.raises(RuntimeError, match=words):
        module(torch.ones(shape), torch.tensor(target))


def test_log_prob_sums_to_one_and_agrees_with_forward():
    torch.manual_seed(0)
    module = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])
    x, target = torch.randn(6, 16), torch.tensor([0, 3, 4, 9, 10, 19])
    whole = module.log_prob(x)
    np.testing.assert_allclose(whole.exp().sum(1).detach(), np.ones(6), rtol=1e-5)
    expected = whole.gather(1, target[:, None])[:, 0].detach()
    for run in (module, torch.jit(module)):
        output, loss = run(x, target)
        np.testing.assert_allclose(output.detach(), expected, rtol=1e-5)
        np.testing.assert_allclose(loss.item(), -expected.mean().item(), rtol=1e-5)
    assert module.predict(x).tolist() == whole.argmax(1).tolist()
    assert module(x[0], target[0]).output.shape == ()


def test_compiled_code_refuses_a_wrong_target():
    module = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])
    given = torch.ones(3, 4), torch.tensor([1, 12, -1])
    with pytest.raises(RuntimeError, match=r"should be in \[0, 9\], but one is 12"):
        torch.jit(module)(*given)
    output = torch.jit(module, checks=False)(*given).output
    assert output.isnan().tolist() == [False, True, True]
