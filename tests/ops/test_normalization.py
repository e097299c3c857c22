"""torchlike._ops.nn.norm.normalization: statistics, running statistics, gradients that vanish."""

import chex
import jax
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike._ops.nn.norm.normalization import _standardized


def sample(*shape):
    return torch.tensor(np.random.default_rng(0).standard_normal(shape, np.float32) * 3 + 2)


@pytest.mark.parametrize(
    ("function", "over"),
    [
        (lambda x: F.batch_norm(x, None, None, training=True), (0, 2)),
        (lambda x: F.layer_norm(x, (4, 5)), (1, 2)),
        (lambda x: F.instance_norm(x), (2,)),
        (lambda x: F.group_norm(x, 1), (1, 2)),
    ],
)
def test_mean_zero_and_variance_one(function, over):
    y = function(sample(3, 4, 5)).numpy()
    np.testing.assert_allclose(y.mean(over), 0, atol=1e-6)
    np.testing.assert_allclose(y.var(over), 1, rtol=1e-3)  # eps 1e-5 of a variance of 0.08


def test_the_gradient_of_a_normalised_sum_is_zero():
    x = sample(4, 3).requires_grad_()
    F.layer_norm(x, (3,)).sum().backward()
    # A row has a deviation of 0.3; PyTorch is 1.4e-6 off there.
    np.testing.assert_allclose(x.grad.numpy(), 0, atol=2e-6)


def test_running_statistics_move_in_place_and_outside_autograd():
    x = sample(4, 2, 3).requires_grad_()
    mean, var = torch.zeros(2), torch.ones(2)
    version = mean._version
    y = F.batch_norm(x, mean, var, training=True, momentum=0.25)
    values = x.detach().numpy()
    np.testing.assert_allclose(mean.numpy(), 0.25 * values.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * values.var((0, 2), ddof=1), rtol=1e-5)
    assert mean._version > version
    assert y.requires_grad
    assert not mean.requires_grad


def test_evaluation_uses_the_running_statistics():
    x = torch.tensor([[1.0, 10.0]])
    y = F.batch_norm(x, torch.tensor([0.0, 10.0]), torch.tensor([1.0, 4.0]), eps=0.0)
    assert y.tolist() == [[1.0, 0.0]]


def test_rms_norm_divides_by_the_root_mean_square():
    assert F.rms_norm(torch.tensor([3.0, 4.0]), (2,), eps=0.0).tolist() == pytest.approx(
        [3 / 12.5**0.5, 4 / 12.5**0.5]
    )


def test_bfloat16_is_normalised_in_float32():
    y = F.layer_norm(sample(2, 64).bfloat16(), (64,))
    assert y.dtype is torch.bfloat16
    assert abs(y.float().mean().item()) < 1e-2


def test_one_value_per_channel_is_refused():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(torch.ones(1, 3), None, None, training=True)


def test_second_gradients_with_and_without_running_statistics():
    """One op gives three results with running statistics, one without."""
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    statistics = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    found = []
    for given in (statistics, (None, None)):
        y = F.instance_norm(x, *given)
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x)
        found.append(second)
    torch.testing.assert_close(*found)


def test_response_norm_of_nothing_is_what_was_given():
    x = torch.ones(2, 0, 3, dtype=torch.int64)
    assert F.local_response_norm(x, 2) is x


def test_native_batch_norm_leaves_unused_results_alone():
    x, statistics = torch.randn(2, 3, 4), (torch.zeros(3), torch.ones(3))
    out = torch.empty(0), torch.full((5,), 7.0), torch.empty(0)
    torch.native_batch_norm(x, None, None, *statistics, False, 0.1, 0.0, out=out)
    torch.testing.assert_close(out[0], x)
    assert out[1].tolist() == [7.0] * 5
    bad = torch.empty(0), torch.empty(0, 2), torch.empty(0)
    with pytest.raises(RuntimeError, match="TensorAccessor expected 1 dims but tensor has 2"):
        torch.native_batch_norm(x, None, None, *statistics, False, 0.1, 0.0, out=bad)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_of_one_dimension(run, training):
    none = torch.zeros(0)

    def norm(x):
        return F.batch_norm(x, torch.zeros(0), torch.ones(0), training=training)

    assert run(norm, none).shape == (0,)
    with pytest.raises(IndexError, match=r"Dimension out of range .*, but got 1"):
        norm(torch.zeros(3))


def test_the_derivative_written_by_hand_is_that_of_the_two_passes():
    """The mean's and the variance's tangents too, which no norm uses."""

    def plain(x):
        mean = x.mean((0, 2), keepdims=True)
        var = ((x - mean) ** 2).mean((0, 2), keepdims=True)
        return (x - mean) / jax.numpy.sqrt(var + 1e-5), mean, var

    x, dx = (jax.numpy.asarray(sample(4, 3, 5).double().numpy()) for _ in range(2))
    dx = jax.numpy.sin(dx)
    found = jax.jvp(lambda x: _standardized(x, (0, 2), 1e-5), (x,), (dx,))
    chex.assert_trees_all_close(found, jax.jvp(plain, (x,), (dx,)), rtol=1e-12)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("sizes", [(5,), (4,), (4, 5), (4, 5, 6), (2, 3, 4, 5)])
def test_batch_norm_trains_alike_in_a_compiled_program(sizes):
    """There it may be computed with the channels last; channels are dimension 1 all the same."""

    def trained(transform):
        x = sample(3, *sizes).requires_grad_()
        weight, bias = torch.linspace(1, 2, sizes[0]), torch.linspace(-1, 1, sizes[0])
        weight.requires_grad_()
        mean, var = torch.zeros(sizes[0]), torch.ones(sizes[0])

        @transform
        def step():
            y = F.batch_norm(x, mean, var, weight, bias, training=True)
            (y**3).sum().backward()
            return y

        y = step()
        assert y.is_contiguous()
        return [y.detach(), x.grad, weight.grad, mean, var]

    # Sums in another order, in gradients that cancel.
    torch.testing.assert_close(trained(lambda f: f), trained(torch.jit), rtol=1e-5, atol=1e-5)
