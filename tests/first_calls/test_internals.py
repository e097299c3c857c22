"""Where JAX lacks a private name, operations are compiled at their first call, as a line says."""

import os
import subprocess
import sys

import pytest

from torchlike._runtime.first_calls.internals import NAMES, internals


def test_this_jax_has_them_all():
    assert internals.missing == ""


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_missing_name_is_told_once_and_everything_is_compiled(name, monkeypatch, caplog):
    import torchlike._runtime.first_calls.internals as room

    monkeypatch.setitem(room.NAMES, name, (NAMES[name][0], "no_such_name"))
    found = room.Internals()
    assert found.missing == f"{NAMES[name][0]}.no_such_name"
    (line,) = caplog.records
    assert "compiled at their first call" in line.getMessage()
    _check_that_jit_is_jaxs(found, monkeypatch)


def test_another_signature_of_pjit_is_told(monkeypatch, caplog):
    import torchlike._runtime.first_calls.internals as room

    def hooked(self, *args):
        raise TypeError("pjit() takes no arguments")

    monkeypatch.setattr(room.Internals, "hooked", hooked)
    found = room.Internals()
    assert "takes no arguments" in found.missing
    assert len(caplog.records) == 1
    _check_that_jit_is_jaxs(found, monkeypatch)


def _check_that_jit_is_jaxs(found, monkeypatch):
    import jax

    module = sys.modules["torchlike._runtime.first_calls.jit"]
    monkeypatch.setattr(module, "internals", found)
    form = module.jit(lambda x: x + 1, name="without the names")
    assert type(form) is type(jax.jit(lambda x: x))
    assert form(1.0) == 2.0
    from torchlike._runtime.first_calls.statistics import records

    assert "without the names" not in records


@pytest.mark.exhaustive
def test_a_whole_process_without_a_name_runs():
    code = """
import torchlike._runtime.first_calls.internals as room
room.NAMES["put"] = ("jaxlib._jax", "no_such_name")
room.internals.__init__()
import torchlike as torch
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
assert not any(row.calls for row in torch.compiler.report().rows)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
