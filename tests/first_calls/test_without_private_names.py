"""Where JAX lacks a private name, operations are compiled at their first call, as a line says."""

import dataclasses
import os
import subprocess
import sys

import jax
import pytest

from torchlike._runtime.jax_private import compiled_calls as room


def test_this_jax_has_them_all():
    assert room.compiled_calls.missing == ""


@pytest.mark.parametrize("name", room.NEEDED, ids=lambda name: name.where)
def test_a_missing_name_is_told_once_and_everything_is_compiled(name, monkeypatch, caplog):
    gone = dataclasses.replace(name, where=f"{name.where.rpartition('.')[0]}.no_such_name")
    names = tuple(gone if each is name else each for each in room.NEEDED)
    monkeypatch.setattr(room, "NEEDED", names)
    found = room.CompiledCalls()
    assert found.missing == gone.where
    (line,) = caplog.records
    assert "compiled at their first call" in line.getMessage()
    _check_that_jit_is_jaxs(found, monkeypatch)


def test_another_signature_of_pjit_is_told(monkeypatch, caplog):
    def hooked(self, *args):
        raise TypeError("pjit() takes no arguments")

    monkeypatch.setattr(room.CompiledCalls, "hooked", hooked)
    found = room.CompiledCalls()
    assert "takes no arguments" in found.missing
    assert len(caplog.records) == 1
    _check_that_jit_is_jaxs(found, monkeypatch)


def _check_that_jit_is_jaxs(found, monkeypatch):
    module = sys.modules["torchlike._runtime.first_calls.jit"]
    monkeypatch.setattr(module, "compiled_calls", found)
    form = module.jit(lambda x: x + 1, name="without the names")
    assert type(form) is type(jax.jit(lambda x: x))
    assert form(1.0) == 2.0
    from torchlike._runtime.first_calls.statistics import records

    assert "without the names" not in records


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted({n.where for n in room.NEEDED}))
def test_a_whole_process_without_a_name_runs(name):
    """The name is gone before the package is imported: public JAX does what is left."""
    code = f"""
import importlib
real = importlib.import_module
WHERE = {name!r}
import jax
module = real(WHERE.rpartition(".")[0])
class Without:
    def __getattr__(self, attribute):
        if attribute == WHERE.rpartition(".")[2]:
            raise AttributeError(attribute)
        return getattr(module, attribute)
without = Without()
def import_module(found, package=None):
    return without if found == module.__name__ else real(found, package)
importlib.import_module = import_module
import torchlike as torch
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
assert torch.jit(lambda y: torch.relu(y) + 1)(torch.ones(2)).tolist() == [2.0, 2.0]
assert torch.rand(2).shape == (2,)
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
    assert name in done.stderr
