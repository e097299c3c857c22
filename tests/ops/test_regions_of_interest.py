"""torchvision's operators, which its package finds when it loads its compiled library."""

import math
import subprocess
import sys

import numpy as np
import pytest

import torchlike as torch

BOXES = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 11], [21, 20, 30, 29.0]]
SCORES = [0.5, 0.9, 0.7, 0.8, 0.7]


@pytest.fixture(autouse=True)
def library():
    torch.ops.load_library("/anywhere/torchvision/_C.so")
    torch.ops.load_library("/anywhere/torchvision/_C.so")  # a second time is nothing new


def test_other_libraries_are_not_loaded():
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("/anywhere/other/_C.so")


@pytest.mark.exhaustive
def test_the_library_has_another_name_in_newer_releases():
    told = (
        "import torchlike as torch\n"
        "torch.ops.load_library('/anywhere/torchvision/_C_stable.so')\n"
        "print(torch.ops.torchvision.nms(torch.ones(1, 4), torch.ones(1), 0.5).tolist())\n"
        "try: torch.ops.torchvision.box_iou_rotated(torch.ones(1, 5), torch.ones(1, 5))\n"
        "except NotImplementedError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    kept, refused = done.stdout.splitlines()[:2]
    assert kept == "[0]"
    assert "Could not run 'torchvision::box_iou_rotated'" in refused


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return (
        shared
        / sum((x[2] - x[0]) * (x[3] - x[1]) for x in (a, b))
        / (1 - shared / sum((x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)))
    )


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.75, 0.95])
def test_nms(threshold):
    expected: list[int] = []
    for i in sorted(range(5), key=lambda i: -SCORES[i]):
        if all(overlap(BOXES[i], BOXES[j]) <= threshold for j in expected):
            expected.append(i)
    found = torch.ops.torchvision.nms(torch.tensor(BOXES), torch.tensor(SCORES), threshold)
    assert found.tolist() == expected
    assert found.dtype is torch.int64


def test_nms_of_nothing():
    assert torch.ops.torchvision.nms(torch.empty(0, 4), torch.empty(0), 0.5).tolist() == []
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        torch.ops.torchvision.nms(torch.empty(1, 3), torch.empty(1), 0.5)


def bilinear(image, y, x):
    height, width = image.shape[-2:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(image.shape[0])
    y, x = max(y, 0), max(x, 0)
    low_y, low_x = min(int(y), height - 1), min(int(x), width - 1)
    y, x = min(y, height - 1), min(x, width - 1)
    high_y, high_x = min(low_y + 1, height - 1), min(low_x + 1, width - 1)
    down, right = y - low_y, x - low_x
    upper = image[:, low_y, low_x] * (1 - right) + image[:, low_y, high_x] * right
    lower = image[:, high_y, low_x] * (1 - right) + image[:, high_y, high_x] * right
    return upper * (1 - down) + lower * down


def aligned_by_hand(images, rois, scale, size, ratio, aligned):
    out = np.zeros((len(rois), images.shape[1], *size))
    for k, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (c * scale - 0.5 * aligned for c in corners)
        height, width = y2 - y1, x2 - x1
        if not aligned:
            height, width = max(height, 1), max(width, 1)
        step_y, step_x = height / size[0], width / size[1]
        n_y, n_x = (ratio, ratio) if ratio > 0 else (math.ceil(step_y), math.ceil(step_x))
        for i, j in np.ndindex(*size):
            samples = [
                bilinear(
                    images[int(image)],
                    y1 + step_y * (i + (a + 0.5) / n_y),
                    x1 + step_x * (j + (b + 0.5) / n_x),
                )
                for a in range(n_y)
                for b in range(n_x)
            ]
            out[k, :, i, j] = sum(samples) / max(n_y * n_x, 1)
    return out


ROIS = [[0, 1, 1.5, 9, 10], [1, 0, 0, 3, 2.5], [1, -3, -2, 20, 25], [0, 5, 5, 5.2, 5.1]]


@pytest.mark.sampled(every=12, rest="full")
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_align(scale, ratio, aligned, jit):
    if jit and ratio < 0:
        pytest.skip("how many samples there are is read from the boxes")
    images = np.random.default_rng(0).normal(size=(2, 3, 12, 14))
    run = torch.ops.torchvision.roi_align
    run = torch.jit(run) if jit else run
    x, rois = torch.tensor(images, requires_grad=True), torch.tensor(ROIS, dtype=torch.float64)
    out = run(x, rois, scale, 3, 4, ratio, aligned)
    expected = aligned_by_hand(images, ROIS, scale, (3, 4), ratio, aligned)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-12)
    # It is linear in the images, so this says what the gradient is.
    cotangent = torch.tensor(np.random.default_rng(1).normal(size=expected.shape))
    (grad,) = torch.autograd.grad(out, x, cotangent)
    sums = ((grad * x).sum().item(), (cotangent * out).sum().item())
    assert sums[0] == pytest.approx(sums[1], rel=1e-10)
    backward = torch.ops.torchvision._roi_align_backward(
        cotangent, rois, scale, 3, 4, 2, 3, 12, 14, ratio, aligned
    )
    torch.testing.assert_close(backward, grad)


def test_operators_without_a_kernel_say_so():
    with pytest.raises(NotImplementedError, match="Could not run 'torchvision::roi_pool'"):
        torch.ops.torchvision.roi_pool(torch.ones(1, 1, 4, 4), torch.ones(1, 5), 1.0, 2, 2)


def test_what_runs_in_place_of_an_operator_under_autocast():
    library = torch.library.Library("rooms_of_autocast", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def in_float64(x):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return torch.ops.rooms_of_autocast.twice(x.double())

    torch.library.Library("rooms_of_autocast", "IMPL").impl("twice", in_float64, "AutocastCPU")
    x = torch.ones(2)
    assert torch.ops.rooms_of_autocast.twice(x).dtype is torch.float32
    with torch.autocast("cpu"):
        assert torch.ops.rooms_of_autocast.twice(x).dtype is torch.float64
    guard = torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU))
    with pytest.raises(NotImplementedError, match="only the keys of autocast"):
        guard.__enter__()
    library._destroy()


def test_names_that_libraries_import():
    from torchlike.jit.annotations import BroadcastingList2
    from torchlike.onnx.symbolic_helper import parse_args
    from torchlike.utils.model_zoo import tqdm

    assert BroadcastingList2[int] == list[int]
    assert parse_args("v", "i")(abs) is abs
    with tqdm([1, 2], disable=True) as bar:
        assert list(bar) == [1, 2]
    assert torch._dynamo.utils.is_compile_supported("cpu")
    assert torch.hub.get_dir() == f"{torch.hub._get_torch_home()}/hub"
    torch.onnx.register_custom_op_symbolic("a::b", abs, 11)
    assert torch.jit._script_if_tracing(abs) is abs
    with torch._C.DisableTorchFunctionSubclass():
        assert torch._C._get_tracing_state() is None
