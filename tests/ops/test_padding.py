"""torchlike._ops.nn.image.padding and resampling."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F

X = [[[0.0, 1.0, 2.0, 3.0]]]


@pytest.mark.parametrize(
    ("mode", "pad", "expected"),
    [
        ("constant", (2, 1), [0, 0, 0, 1, 2, 3, 0]),
        ("constant", (-1, 1), [1, 2, 3, 0]),
        ("reflect", (2, 1), [2, 1, 0, 1, 2, 3, 2]),
        ("replicate", (2, 1), [0, 0, 0, 1, 2, 3, 3]),
        ("circular", (2, 1), [2, 3, 0, 1, 2, 3, 0]),
        ("circular", (-1, 1), [1, 2, 3, 1]),
    ],
)
def test_borders(mode, pad, expected):
    assert F.pad(torch.tensor(X), pad, mode=mode)[0, 0].tolist() == expected


def test_repeated_elements_gather_their_gradients():
    x = torch.tensor(X, requires_grad=True)
    F.pad(x, (2, 1), mode="reflect").sum().backward()
    assert x.grad.tolist() == [[[1.0, 2.0, 3.0, 1.0]]]


def test_padding_that_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="Padding length must be divisible by 2"):
        F.pad(torch.tensor(X), (1,))
    with pytest.raises(RuntimeError, match="should be less than the corresponding input"):
        F.pad(torch.tensor(X), (4, 0), mode="reflect")


def test_pixel_shuffle_and_back():
    x = torch.arange(16.0).reshape(1, 4, 2, 2)
    assert F.pixel_shuffle(x, 2)[0, 0, 0].tolist() == [0.0, 4.0, 1.0, 5.0]
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).tolist() == x.tolist()


@pytest.mark.parametrize("mode", ["nearest", "linear", "area"])
def test_interpolation_to_the_same_size_is_the_identity(mode):
    assert F.interpolate(torch.tensor(X), size=4, mode=mode).tolist() == X


def test_interpolation_values():
    x = torch.tensor(X)
    assert F.interpolate(x, scale_factor=2)[0, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert F.interpolate(x, size=7, mode="linear", align_corners=True)[0, 0].tolist() == [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
    ]


def test_sampling_at_the_identity_grid_is_the_identity():
    image = torch.arange(12.0).reshape(1, 1, 3, 4)
    grid = F.affine_grid(
        torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 3, 4), align_corners=False
    )
    found = F.grid_sample(image, grid, align_corners=False)
    assert found.flatten().tolist() == pytest.approx(image.flatten().tolist(), abs=1e-5)
