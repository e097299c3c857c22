"""Needing a value, branching, modes: as in eager execution, or a clear error."""

import threading

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


def ones(*shape):
    return torch.ones(*shape)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: np.sin(x),
        lambda x: np.asarray(x),
        lambda x: bool(x[0]),
        lambda x: int(x[0]),
        lambda x: float(x[0]),
        lambda x: f"{x[0]:.2f}",
        lambda x: range(x[0].long()),
        lambda x: [1, 2][x[0].long()],
        lambda x: max(x[0], x[1]),
        lambda x: [v for v in x if v > 0],
        lambda x: 1.0 in x,
        lambda x: torch.zeros(x[0].long().item()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x),
        lambda x: torch.equal(x, x),
        lambda x: torch.allclose(x, x),
        lambda x: hash(x.sum().item()),
        lambda x: ~(x > 0).all() or 1,
    ],
)
def test_a_value_needed_in_python_names_the_users_line(use):
    with pytest.raises(JitCaptureError, match=r"test_values_and_branches\.py:\d+"):
        torch.jit(lambda x: use(x))(ones(3))


def test_branches_on_shape_dtype_and_type_are_compiled_for_each():
    def f(x, y=None):
        if x.dim() == 2:
            x = x.sum(0)
        if len(x) > 2:
            x = x * 10
        if x.dtype == torch.float64:
            x = x + 1
        return x if y is None else (x + y if isinstance(y, torch.Tensor) else x * y)

    jitted = torch.jit(f)
    for _ in range(2):
        for args in (
            (ones(2),),
            (ones(3),),
            (ones(2, 2),),
            (ones(2).double(),),
            (ones(2), ones(2)),
            (ones(2), 3),
        ):
            assert jitted(*args).tolist() == f(*args).tolist()
    assert jitted.compiles == 6


def test_where_instead_of_a_branch():
    f = torch.jit(lambda x: torch.where(x.sum() > 0, x * 2, x * 3))
    assert f(ones(2)).tolist() == [2, 2]
    assert f(-ones(2)).tolist() == [-3, -3]
    assert f.compiles == 1


def test_grad_mode_flips():
    w = torch.ones(2, requires_grad=True)
    f = torch.jit(lambda x: w * x)
    for _ in range(2):
        assert f(ones(2)).requires_grad
        with torch.no_grad():
            assert not f(ones(2)).requires_grad
        with torch.inference_mode():
            assert f(ones(2)).is_inference()
    assert f.compiles == 3


def test_grad_mode_flipped_inside_is_as_in_eager():
    w = torch.ones(2, requires_grad=True)

    def f(x):
        with torch.no_grad():
            a = w * x
        return a, w * x, torch.is_grad_enabled()

    a, b, enabled = torch.jit(f)(ones(2))
    assert (a.requires_grad, b.requires_grad, enabled) == (False, True, True)


def test_default_dtype_change():
    f = torch.jit(lambda x: x + torch.zeros(2))
    try:
        assert f(torch.ones(2, dtype=torch.int64)).dtype is torch.float32
        torch.set_default_dtype(torch.float64)
        assert f(torch.ones(2, dtype=torch.int64)).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert f(torch.ones(2, dtype=torch.int64)).dtype is torch.float32


def test_default_device_change_is_another_program():
    f = torch.jit(lambda x: x + torch.zeros(2))
    f(ones(2))
    torch.set_default_device("cpu")
    try:
        f(ones(2))
    finally:
        torch.set_default_device(None)
    f(ones(2))
    assert f.compiles == 2


def test_requires_grad_flipped_on_an_argument_and_on_state():
    w = torch.ones(2)
    f = torch.jit(lambda x: w * x)
    x = ones(2)
    assert not f(x).requires_grad
    x.requires_grad_()
    assert f(x).requires_grad
    w.requires_grad_()
    assert f(ones(2)).requires_grad
    w.requires_grad_(False)
    assert not f(ones(2)).requires_grad


def test_a_64_bit_scalar_stays_exact():
    f = torch.jit(lambda x, k: x + k)
    big = 2**53 + 1
    assert f(torch.zeros(1, dtype=torch.int64), big).item() == big
    assert f(torch.zeros(1), 1e-3).dtype is torch.float32
    assert f(torch.zeros(1, dtype=torch.int32), 1.5).dtype is torch.float32


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_scalar_promotion_is_as_in_eager():
    def f(x, k):
        return x * k, x + k, k - x

    jitted = torch.jit(f)
    for dtype in (torch.int8, torch.int64, torch.float16, torch.float32, torch.float64):
        for k in (True, 3, 2.5):
            x = torch.ones(2, dtype=dtype)
            try:
                eager = f(x, k)
            except RuntimeError as error:
                with pytest.raises(RuntimeError, match=str(error)[:20]):
                    jitted(x, k)
                continue
            assert [t.dtype for t in jitted(x, k)] == [t.dtype for t in eager]


def test_shape_errors_are_the_same():
    def f(x):
        return x @ ones(3, 3)

    for run in (f, torch.jit(f)):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            run(ones(2, 2))


def test_an_error_does_not_spoil_the_next_call():
    box = {"fail": True}

    @torch.jit
    def f(x):
        if box["fail"]:
            raise ValueError("first")
        return x * 2

    with pytest.raises(ValueError, match="first"):
        f(ones(1))
    box["fail"] = False
    assert f(ones(1)).item() == 2
    assert (torch.ones(1) + 1).item() == 2


def test_two_threads_call_one_function():
    w = torch.zeros(3)

    def step(x):
        w.add_(x)
        return w.sum()

    jitted = torch.jit(step)
    errors = []

    def work():
        try:
            for _ in range(50):
                jitted(ones(3))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert w.tolist() == [200.0] * 3
    assert jitted.compiles == 1


def test_a_capture_does_not_disturb_another_threads_eager_work():
    w = torch.ones(2)
    inside, done = threading.Event(), threading.Event()
    seen = []

    def slow(x):
        w.add_(1)
        inside.set()
        done.wait(10)
        return w * x

    def eager():
        inside.wait(10)
        seen.append((w * 2).tolist())
        seen.append((torch.rand(1).shape, torch.is_grad_enabled()))
        done.set()

    other = threading.Thread(target=eager)
    other.start()
    got = torch.jit(slow)(ones(2))
    other.join()
    assert seen == [[2, 2], (torch.Size([1]), True)]
    assert got.tolist() == [2, 2]
    assert w.tolist() == [2, 2]


def test_thread_local_values():
    local = threading.local()
    local.k = 2.0
    f = torch.jit(lambda x: x * local.k)
    assert f(ones(1)).item() == 2
    got = []

    def work():
        local.k = 5.0
        got.append(f(ones(1)).item())

    t = threading.Thread(target=work)
    t.start()
    t.join()
    assert got == [5]
    assert f(ones(1)).item() == 2
