"""An in-place op on many tensors in one call: as one call for each, and no less careful."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._extensions import foreach
from torchlike._ops.elementwise.pointwise import mul
from torchlike.compiler import set_first_calls


def tensors(*shapes):
    return [torch.arange(1.0, 1 + int(np.prod(s))).reshape(s).clone() for s in shapes]


@pytest.fixture(params=["numpy", "compiled"])
def way(request):
    with set_first_calls(request.param):
        yield


def calls(monkeypatch):
    """How often many tensors were taken at once."""
    found = []
    forms = foreach._forms
    monkeypatch.setattr(foreach, "_forms", lambda *a: found.append(a) or forms(*a))
    return found


@pytest.mark.usefixtures("way")
def test_each_is_written(monkeypatch):
    at_once = calls(monkeypatch)
    many = tensors((3,), (2, 2), ())
    versions = [t._version for t in many]
    foreach.update_all(mul.spec, many, [torch.tensor(0.5)])
    for t, expected in zip(many, tensors((3,), (2, 2), ()), strict=True):
        np.testing.assert_array_equal(t.numpy(), expected.numpy() * 0.5)
    assert [t._version for t in many] == [v + 1 for v in versions]
    assert len(at_once) == 1


@pytest.mark.usefixtures("compiled_at_once")
def test_arrays_that_others_hold_keep_their_values(monkeypatch):
    many = tensors((64,), (8, 8))
    held = many[1].jax()
    foreach.update_all(mul.spec, many, [2.0])
    np.testing.assert_array_equal(held, np.arange(1.0, 65.0).reshape(8, 8))
    np.testing.assert_array_equal(many[1].numpy(), 2 * np.asarray(held))


def _a_view():
    base = torch.ones(4)
    return [base[1:3], torch.ones(2)]


def _shared():
    base = torch.ones(4)
    return [base, base.detach()]


def _of_numpy():
    return [torch.from_numpy(np.ones(3, np.float32)), torch.ones(3)]


@pytest.mark.parametrize("make", [_a_view, _shared, _of_numpy, lambda: [torch.ones(2)]])
@pytest.mark.usefixtures("way")
def test_others_are_written_one_at_a_time(make, monkeypatch):
    at_once = calls(monkeypatch)
    many, expected = make(), make()
    foreach.update_all(mul.spec, many, [3.0])
    for t in expected:
        t.mul_(3.0)
    for t, e in zip(many, expected, strict=True):
        np.testing.assert_array_equal(t.numpy(), e.numpy())
    assert not at_once


def test_what_requires_grad_is_recorded(monkeypatch):
    at_once = calls(monkeypatch)
    x = torch.ones(2, requires_grad=True)
    many = [x * 1, x * 2]
    foreach.update_all(mul.spec, many, [torch.tensor(3.0)])
    (many[0] + many[1]).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [9, 9])
    assert not at_once


def test_a_tensor_of_inference_mode_is_refused():
    with torch.inference_mode():
        many = [torch.ones(2), torch.ones(2)]
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        foreach.update_all(mul.spec, many, [2.0])


@pytest.mark.usefixtures("way")
def test_clipping_is_one_call_and_compiled_once(monkeypatch):
    at_once = calls(monkeypatch)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    for _ in range(3):
        model.zero_grad()
        model(torch.ones(2, 5)).sum().backward()
        before = [p.grad.clone() for p in model.parameters()]
        total = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        norms = torch.stack([g.norm() for g in before])
        torch.testing.assert_close(total, norms.norm(), rtol=1e-6, atol=0)
        for p, g in zip(model.parameters(), before, strict=True):
            torch.testing.assert_close(p.grad, g * (0.5 / (total + 1e-6)), rtol=1e-6, atol=0)
    assert len(at_once) == 3
    assert len({(exe, n) for exe, n in at_once}) == 1


def test_a_captured_step_is_left_to_its_program(monkeypatch):
    at_once = calls(monkeypatch)
    p = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2))]

    @torch.compile
    def step(x):
        for q in p:
            q.grad = None
        ((p[0] * x).sum() + p[1].sum()).backward()
        return torch.nn.utils.clip_grad_norm_(p, 1.0)

    total = step(torch.ones(3))
    np.testing.assert_allclose(total.numpy(), np.sqrt(5), rtol=1e-6)
    np.testing.assert_allclose(p[0].grad.numpy(), np.ones(3) / np.sqrt(5), rtol=1e-5)
    assert not at_once
