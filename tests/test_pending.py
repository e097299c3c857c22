"""Waiting for what devices were asked for: results come before they are computed, on CPUs too."""

import threading

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch
from torchlike._runtime import pending


@pytest.fixture(scope="module")
def products():
    """Asks for two products, 70 ms or more of work, and gives the result at once."""
    a, b = torch.rand(1500, 1500), torch.rand(1500, 1500)

    def ask():
        return (a @ b @ a).jax()

    ask().block_until_ready()
    return ask


WAITS = {
    "cpu.synchronize": torch.cpu.synchronize,
    "get_device_module": lambda: torch.get_device_module("cpu").synchronize(),
    "Stream.synchronize": lambda: torch.cpu.current_stream().synchronize(),
    "Stream.query": lambda: torch.Stream("cpu").query(),
    "Event.record": lambda: torch.Event("cpu").record(),
    "time_when_done": pending.time_when_done,
}


@pytest.mark.parametrize("name", WAITS)
def test_what_was_asked_for_is_ready(name, products):
    found = products()
    WAITS[name]()
    assert found.is_ready()


def test_results_that_nobody_holds_are_waited_for(products, monkeypatch):
    monkeypatch.setattr(pending, "_alive", list)
    for wait in (pending.wait, pending.time_when_done):
        found = products()
        wait()
        assert found.is_ready()


@pytest.mark.parametrize("wait", [pending.wait, pending.time_when_done])
def test_what_another_thread_asked_for(wait, products):
    found, end = [], threading.Event()

    def work():
        found.append(products())
        end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    while not found:
        pass
    wait()
    assert found[0].is_ready()
    end.set()
    thread.join()


def test_arrays_whose_memory_was_given_away(monkeypatch):
    array = jnp.ones(3) + 1
    array.delete()
    monkeypatch.setattr(pending, "_alive", lambda: [array])
    pending.wait()
    pending.time_when_done()


def test_errors_of_what_was_asked_for_are_raised():
    def fails(x):
        raise ValueError("the callback's error")

    call = jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((3,), jnp.float32), x))

    def ask_and_wait():
        found = call(jnp.ones(3))
        pending.wait()
        return found

    with pytest.raises(jax.errors.JaxRuntimeError, match="the callback's error"):
        ask_and_wait()


def test_inside_a_trace_it_is_no_part_of_the_program():
    def f(x):
        torch.cpu.synchronize()
        return x + 1

    assert torch.jit(f)(torch.ones(2)).tolist() == [2, 2]
    assert "call" not in str(jax.make_jaxpr(lambda x: (pending.wait(), x)[1])(jnp.ones(2)))
    assert jax.jit(lambda x: (pending.wait(), x * 2)[1])(jnp.ones(2)).tolist() == [2, 2]


def test_accelerators_are_waited_for_where_there_are_some(monkeypatch, products):
    monkeypatch.setattr(torch.accelerator, "require", lambda: None)
    monkeypatch.setattr(torch.cuda.streams, "require", lambda: None)
    for synchronize in (torch.accelerator.synchronize, torch.cuda.synchronize):
        found = products()
        synchronize()
        assert found.is_ready()
