"""StableHLO of a file that would end the process that parses it."""

import base64
import dataclasses
import io
import logging
import subprocess
import sys

import pytest
from jax import export as jax_export

import torchlike as torch
from tests.export.archives import changed, scripted
from torchlike.serialization.stablehlo import apart, parsing

#: func.func public @main(%a: tensor<2xf32>), which adds two numbers to it. As bytes, for with other
#: versions of MLIR another byte would be the one.
MODULE = base64.b85decode(
    "O-%1n0aJ8gVr*qdOiy2SFfKVRFaQA=1pxyA0|f&K2MG%e13xJT0Urw!GYbm~3kwqy6AKd)69Wqi3kwS`0|yf"
    "q2Lh)B4;KLe0RsyM9|<7~9}Oc9B?S=$69p9o7X=v?0RsaU0Ru4u0~aR+8y5iu5f=dm5f=do2Lk~k105Y5A0G"
    "h`004kL0000$DFX=w5d#4O0SN?61pyEP2Lk~G0}&Ag2LlHW0|65S0~r+q0S5*f0|5mA0|^8j0|f>H0R;g7Vg"
    "ex#3k@F=6&)1?6%QE^4+{}ub!lvLX>I^^Xl!o)ZEs|CY-Ipub#7x{b};~BZ*FsRVQzF^b};~9WMp4<F#vL9b"
    "airWUv@D7EdXJ1XJ27-baHb5W_503bZKvHUvznJWdL$zb6;U}baHb5b9rrFZeeX@0CRb5Uv_D8X<}(?X>@r2"
    "c42IFWdLnqX>I^;bz*F3V*m"
)
#: Its bytes that, changed, ended the process or kept it running for ever (MLIR of JAX 0.10): an
#: assertion; a type within itself, on the stack and in a loop.
ENDS = {"aborts": (38, 1), "segfaults": (80, 1)}
HANGS = (74, 3)


def damaged(at, value):
    module = bytearray(MODULE)
    module[at] = value
    return bytes(module)


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch):
    monkeypatch.setattr(apart, "_known", set())


@pytest.fixture
def started(monkeypatch):
    """Return the processes that were started."""
    commands, run = [], subprocess.run

    def counted(command, **options):
        commands.append(command)
        return run(command, **options)

    monkeypatch.setattr(apart.subprocess, "run", counted)
    return commands


def with_module(module):
    """Write a file of torch.jit whose program is this module."""

    def edit(content):
        program = jax_export.deserialize(bytearray(content))
        return bytes(dataclasses.replace(program, mlir_module_serialized=module).serialize())

    return io.BytesIO(changed(scripted(), "program_0.forward", edit))


@pytest.mark.parametrize("how", ENDS)
def test_what_ends_a_process_is_refused(how):
    with pytest.raises(RuntimeError, match=r"is damaged: .*its StableHLO cannot be parsed"):
        torch.jit.load(with_module(damaged(*ENDS[how])))


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="a limit of POSIX")
def test_what_does_not_end_is_refused():
    with pytest.raises(ValueError, match="its StableHLO cannot be parsed"):
        apart.check([damaged(*HANGS)])


def test_one_of_several_is_refused_and_none_is_known_then():
    with pytest.raises(ValueError, match=r"its StableHLO cannot be parsed$"):
        apart.check([MODULE, MODULE[:300]])
    assert not apart._known


def test_a_module_is_tried_once(started):
    apart.check([MODULE, MODULE])
    apart.check([MODULE])
    assert len(started) == 1


def test_what_this_process_wrote_is_not_tried(started):
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.Linear(3, 2), (torch.ones(2, 3),)), file)
    file.seek(0)
    assert torch.jit.load(file)(torch.ones(2, 3)).shape == (2, 2)
    assert not started


@pytest.mark.parametrize("why", ["no process", "it ended with status 11"])
def test_where_nothing_can_be_tried_a_log_says_so(why, monkeypatch, caplog):
    def run(command, **options):
        if why == "no process":
            raise PermissionError(why)
        return subprocess.CompletedProcess(command, parsing.UNABLE)

    monkeypatch.setattr(apart.subprocess, "run", run)
    with caplog.at_level(logging.WARNING):
        apart.check([MODULE])
    assert f"is parsed without a trial in another process: {why}" in caplog.text
