"""Histograms, covariance, integration, differences and distances against NumPy."""

import math

import numpy as np
import pytest

import torchlike as torch

X = torch.tensor([[3.0, 1.0, 2.0, 1.5], [0.0, -1.0, 5.0, 4.0]], dtype=torch.float64)
N = X.numpy().copy()
POINTS = torch.tensor([0.0, 1.0, 3.0, 3.5], dtype=torch.float64)


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: torch.histc(x, 4), np.histogram(N, 4)[0]),
        (lambda x: torch.histc(x, 4, float("inf"), float("inf")), np.histogram(N, 4)[0]),
        (lambda x: torch.histc(x, 3, -1, 2), np.histogram(N, 3, (-1, 2))[0]),
        (lambda x: torch.cov(x), np.cov(N)),
        (lambda x: torch.corrcoef(x), np.corrcoef(N)),
        (lambda x: torch.trapezoid(x, POINTS), np.trapezoid(N, POINTS.numpy())),
        (
            lambda x: torch.gradient(x, spacing=(POINTS,), dim=1)[0],
            np.gradient(N, POINTS.numpy(), axis=1),
        ),
        (lambda x: torch.gradient(x[0], edge_order=2)[0], np.gradient(N[0], edge_order=2)),
        (lambda x: torch.vander(x[0], 3), np.vander(N[0], 3)),
        (lambda x: torch.cdist(x, x, p=1), np.abs(N[:, None] - N[None]).sum(-1)),
        (lambda x: torch.cross(x[:, :3], x[:, 1:], dim=1), np.cross(N[:, :3], N[:, 1:])),
    ],
)
def test_same_as_numpy(run, ours, theirs) -> None:
    np.testing.assert_allclose(run(ours, X).numpy(), theirs, rtol=1e-9, atol=1e-12)


def test_renorm_shortens_only_what_is_too_long(run) -> None:
    found = run(lambda x: torch.renorm(x, 2, 0, 5.0), X)
    lengths = np.linalg.norm(N, axis=1)
    np.testing.assert_allclose(
        np.linalg.norm(found.numpy(), axis=1), np.minimum(lengths, 5), rtol=1e-6
    )


def test_distance_zero_has_no_gradient() -> None:
    x = torch.ones(1, 2, requires_grad=True)
    torch.cdist(x, torch.ones(1, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 0]]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("p", [0, 1, 2, 3.5, math.inf, -math.inf])
def test_vector_norms(run, p) -> None:
    found = run(lambda x: torch.norm(x, p, 1), X)
    np.testing.assert_allclose(found.numpy(), np.linalg.norm(N, p, 1), rtol=1e-9)


def test_questions() -> None:
    assert torch.equal(X, X.clone())
    assert not torch.equal(X, X[:1])
    assert torch.allclose(X, X + 1e-9)
    assert torch.is_tensor(X)
    assert not torch.is_tensor(N)
    assert torch.result_type(torch.ones(2, dtype=torch.int32), 1.5) is torch.float32
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.allclose(X.float(), X)


def test_dtypes_are_asked_of_dtypes_and_operands_alone() -> None:
    assert torch.result_type(np.float32(1), torch.ones(1, dtype=torch.half)) is torch.half
    assert not torch.can_cast(torch.float32, torch.int32)
    with pytest.raises(TypeError, match=r"invalid combination of arguments - got \(str, Tensor\)"):
        torch.result_type("1", X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"'to' \(position 2\) must be torch.dtype, not int"):
        torch.can_cast(torch.float32, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spacing", "error", "words"),
    [
        (torch.tensor(2.0, requires_grad=True), TypeError, "must be Number"),
        (torch.tensor([0.0, 1.0, 2.0]), TypeError, "must be Number"),
        ([torch.tensor(2.0)], RuntimeError, "one dimension, but got an element with 0"),
    ],
)
def test_gradient_refuses_spacings(spacing, error, words):
    with pytest.raises(error, match=words):
        torch.gradient(torch.arange(3.0), spacing=spacing)


def test_gradient_of_sample_points():
    at = torch.tensor([0.0, 1.0, 2.5, 3.0], requires_grad=True)
    values = torch.tensor([1.0, 3.0, 2.0, 5.0])
    (slopes,) = torch.gradient(values, spacing=(at,))
    slopes.sum().backward()
    assert at.grad is not None
    step = 1e-3
    for i in range(4):
        moved = []
        for sign in (-1, 1):
            shifted = at.detach().double()
            shifted[i] += sign * step
            moved.append(torch.gradient(values.double(), spacing=(shifted,))[0].sum())
        numeric = (moved[1] - moved[0]) / (2 * step)
        torch.testing.assert_close(at.grad[i].double(), numeric, rtol=1e-4, atol=1e-4)


def test_gradient_takes_a_tensor_for_a_number():
    x = torch.arange(5.0) ** 2
    found = torch.gradient(x, spacing=torch.tensor(2))
    torch.testing.assert_close(found, torch.gradient(x, spacing=2))
