"""Fourier transforms against NumPy's, their inverses, and spectra of frames."""

import numpy as np
import pytest

import torchlike as torch
import torchlike.fft

X = torch.tensor(np.random.default_rng(0).normal(size=(3, 4, 5)), dtype=torch.float64)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "hfft", "ihfft", "fftn", "rfft2", "ifftn"])
def test_same_as_numpy(run, name, norm) -> None:
    found = run(lambda x: getattr(torch.fft, name)(x, norm=norm), X)
    expected = getattr(np.fft, name)(X.numpy(), norm=norm)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


def test_inverses(run) -> None:
    for there, back in (("rfftn", "irfftn"), ("rfft2", "irfft2"), ("ihfftn", "hfftn")):
        found = run(
            lambda x, a=there, b=back: getattr(torch.fft, b)(
                getattr(torch.fft, a)(x), x.shape[-2:] if "2" in a else x.shape
            ),
            X,
        )
        np.testing.assert_allclose(found.numpy(), X.numpy(), rtol=1e-10, atol=1e-12)


def test_four_dimensions(run) -> None:
    x = torch.ones(2, 2, 2, 2)
    found = run(lambda x: torch.fft.fftn(x), x)
    assert found.dtype is torch.complex64
    np.testing.assert_allclose(found.numpy(), np.fft.fftn(x.numpy()), atol=1e-6)


def test_parseval_in_the_gradient(run) -> None:
    def step(x):
        x = x.detach().requires_grad_()
        torch.fft.fft(x, norm="ortho").abs().square().sum().backward()
        return x.grad

    np.testing.assert_allclose(run(step, X).numpy(), 2 * X.numpy(), rtol=1e-9)


def test_stft_and_back(run) -> None:
    x = torch.arange(32.0)
    window = torch.hann_window(8)

    def there_and_back(x):
        spectrum = torch.stft(x, 8, 2, window=window, return_complex=True)
        return torch.istft(spectrum, 8, 2, window=window, length=32)

    np.testing.assert_allclose(run(there_and_back, x).numpy(), x.numpy(), atol=2e-5)


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match="rfft expects a real input tensor"):
        torch.fft.rfft(torch.ones(3, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="Invalid normalization mode"):
        torch.fft.fft(X, norm="x")
    with pytest.raises(RuntimeError, match="return_complex"):
        torch.stft(torch.ones(8), 4)
