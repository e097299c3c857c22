"""Anomaly detection names the op whose backward gave NaN, and the line of its forward call."""

import warnings

import pytest

import torchlike as torch
from torchlike.autograd import detect_anomaly, set_detect_anomaly
from torchlike.autograd.anomaly_mode import is_anomaly_enabled


def nan_in_backward():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    root = x.sqrt()  # the line to be named
    return x, (root * 0).sum()


def test_nan_is_refused_and_its_forward_line_shown():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = detect_anomaly()
    with mode:
        assert is_anomaly_enabled()
        _, loss = nan_in_backward()
        with (
            pytest.warns(UserWarning, match="the line to be named"),
            pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"),
        ):
            loss.backward()
    assert not is_anomaly_enabled()


def test_without_check_nan_only_errors_are_shown():
    with set_detect_anomaly(True, check_nan=False):
        x, loss = nan_in_backward()
        loss.backward()
        assert x.grad.isnan().tolist() == [True, False]
        y = x * x
        y.sum().backward()
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match="second time"),
        ):
            y.sum().backward()


def test_a_forward_pass_outside_has_no_stack():
    _, loss = nan_in_backward()
    with (
        set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information"),
        pytest.raises(RuntimeError, match="nan values"),
    ):
        loss.backward()


def test_off_by_default_and_as_a_call():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nan_in_backward()[1].backward()
    set_detect_anomaly(True)
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_a_compiled_function_refuses():
    def step(x):
        x = x.detach().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    with set_detect_anomaly(True), pytest.raises(torch.jit.JitCaptureError, match="NaN"):
        torch.jit(step)(torch.ones(2))
