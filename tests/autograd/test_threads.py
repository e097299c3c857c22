"""Backward passes of several threads that share leaves."""

import sys
import threading

import pytest

import torchlike as torch


@pytest.fixture
def frequent_switches():
    """Threads take turns every few bytecodes, not every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("create_graph", [False, True])
def test_no_gradient_is_lost(create_graph):
    x = torch.ones(5, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(40):
                ((x + 3) * (x + 4) * 0.5).sum().backward(create_graph=create_graph)
        except Exception as error:  # the thread's, told below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert x.grad.tolist() == [8 * 40 * 4.5] * 5
