"""How results of matrix functions and Fourier transforms lie in memory, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


def spd(m, batch, flipped=False):
    """Positive-definite matrices, row-major or column by column."""
    a = m.arange(16.0, dtype=m.float64).reshape(4, 4).sin() / 4 + 3 * m.eye(4, dtype=m.float64)
    a = (a @ a.mT).expand(*batch, 4, 4).contiguous()
    return a.mT.contiguous().mT if flipped else a


def tall(m, batch):
    return (
        (m.arange(12.0, dtype=m.float64) ** 2).sin().reshape(4, 3).expand(*batch, 4, 3).contiguous()
    )


def rhs(m, batch):
    return m.arange(8.0, dtype=m.float64).reshape(4, 2).expand(*batch, 4, 2).contiguous()


MATRICES = {
    "inverse": lambda m, a, t, b: m.inverse(a),
    "power": lambda m, a, t, b: m.linalg.matrix_power(a, -1),
    "qr": lambda m, a, t, b: m.linalg.qr(t),
    "qr r": lambda m, a, t, b: m.linalg.qr(t, mode="r"),
    "svd": lambda m, a, t, b: m.linalg.svd(t),
    "V": lambda m, a, t, b: m.svd(t),
    "eigh": lambda m, a, t, b: m.linalg.eigh(a),
    "eig": lambda m, a, t, b: m.linalg.eig(a),
    "cholesky": lambda m, a, t, b: m.linalg.cholesky(a, upper=True),
    "cholesky_solve": lambda m, a, t, b: m.cholesky_solve(b, m.linalg.cholesky(a)),
    "cholesky_inverse": lambda m, a, t, b: m.cholesky_inverse(m.linalg.cholesky(a)),
    "solve": lambda m, a, t, b: m.linalg.solve(a, b),
    "solve from the right": lambda m, a, t, b: m.linalg.solve(a, b.mT, left=False),
    "solve vectors": lambda m, a, t, b: m.linalg.solve(a, b[..., 0]),
    "solve_triangular": lambda m, a, t, b: m.linalg.solve_triangular(
        a, b.mT, upper=True, left=False
    ),
    "triangular_solve": lambda m, a, t, b: m.triangular_solve(b, a),
    "lu": lambda m, a, t, b: m.linalg.lu(t),
    "lu_factor": lambda m, a, t, b: m.linalg.lu_factor(t),
    "lu_solve": lambda m, a, t, b: m.linalg.lu_solve(*m.linalg.lu_factor(a), b),
    "lstsq": lambda m, a, t, b: m.linalg.lstsq(a, b),
    "ldl_factor": lambda m, a, t, b: m.linalg.ldl_factor(a),
    "geqrf": lambda m, a, t, b: m.geqrf(t),
    "householder_product": lambda m, a, t, b: m.linalg.householder_product(*m.geqrf(t)),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("batch", [(), (2, 3), (0,)])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
def test_lapacks_order(name, batch):
    def strides(m, flipped):
        found = MATRICES[name](m, spd(m, batch, flipped), tall(m, batch), rhs(m, batch))
        return [tuple(t.stride()) for t in (found if isinstance(found, tuple) else (found,))]

    for flipped in (False, True):
        assert strides(torchlike, flipped) == strides(torch, flipped)


def test_what_follows_from_it():
    def run(m):
        a = m.linalg.inv(spd(m, (), False))
        m.manual_seed(0)
        drawn = m.nn.functional.dropout(m.ones_like(a))
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            a.view(16)
        return a.is_contiguous(), drawn.tolist(), a.t().view(16).tolist()

    ours, theirs = run(torchlike), run(torch)
    assert ours[:2] == theirs[:2]
    assert ours[2] == pytest.approx(theirs[2], rel=1e-9)


@pytest.mark.parametrize("name", ["inverse", "svd", "solve from the right"])
def test_compiled(name):
    made = torchlike.jit(lambda a, t, b: MATRICES[name](torchlike, a, t, b))
    for _ in range(3):
        found = made(spd(torchlike, (2,)), tall(torchlike, (2,)), rhs(torchlike, (2,)))
    expected = MATRICES[name](torch, spd(torch, (2,)), tall(torch, (2,)), rhs(torch, (2,)))
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    assert all(tuple(x.stride()) == y.stride() for x, y in pairs)


TRANSFORMS = {
    "fft": lambda m, x: m.fft.fft(x),
    "along the first": lambda m, x: m.fft.fft(x, dim=0),
    "padded": lambda m, x: m.fft.fft(x, n=7, dim=0),
    "cut": lambda m, x: m.fft.fft(x, n=2, dim=1),
    "fft2": lambda m, x: m.fft.fft2(x),
    "fftn": lambda m, x: m.fft.fftn(x, dim=(1, 0)),
    "rfft": lambda m, x: m.fft.rfft(x, dim=0),
    "rfft2": lambda m, x: m.fft.rfft2(x, dim=(1, 0)),
    "irfft": lambda m, x: m.fft.irfft(x + 0j, dim=0),
    "irfft2": lambda m, x: m.fft.irfft2(x + 0j, s=(6, 5), dim=(0, 1)),
    "hfft": lambda m, x: m.fft.hfft(x + 0j, dim=0),
    "hfft2": lambda m, x: m.fft.hfft2(x + 0j),
    "ihfft": lambda m, x: m.fft.ihfft(x, dim=0),
    "ihfft2": lambda m, x: m.fft.ihfft2(x),
    "stft": lambda m, x: m.stft(x.reshape(2, 12), 4, window=m.ones(4), return_complex=True),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("order", ["rows", "flipped", "gaps"])
def test_order_of_transforms(name, order):
    def strides(m):
        x = m.arange(24.0).reshape(4, 2, 3)
        if order == "flipped":
            x = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        elif order == "gaps":
            x = m.stack([x, x], -1)[..., 0]
        return tuple(TRANSFORMS[name](m, x).stride())

    assert strides(torchlike) == strides(torch)
