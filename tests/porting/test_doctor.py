"""`torchlike doctor`: the facts of this process, and what it says of others."""

import copy
import io
import json
import os
import re

import pytest
from rich.console import Console

import torchlike
from torchlike.porting.doctor import command, facts
from torchlike.porting.doctor.problems import notes, problems, without_home

#: A machine with which nothing is wrong.
HEALTHY = {
    "versions": {
        "installed": {
            "torchlike": "0.1.0",
            "torch": "2.13.0+torchlike",
            "jax": "0.10.2",
            "jaxlib": "0.10.2",
            "numpy": "2.4.6",
        },
        "required": ["jax>=0.10.2", "jaxlib>=0.10.2", "numpy>=2.0"],
    },
    "system": {
        "platform": "Linux",
        "libc": "glibc-2.36",
        "python": "3.11.7",
        "executable": "/v/python",
        "is_virtual": True,
        "activated": None,
        "memory_bytes": 1 << 34,
        "shared_memory_bytes": 1 << 33,
        "has_nvidia": False,
    },
    "devices": {"backend": "cpu", "devices": ["cpu:0 (cpu)"], "error": None},
    "threads": {"xla": 2, "usable_cores": 2, "cores": 4},
    "caches": {
        "folder": "/c",
        "programs": 3,
        "bytes": 1 << 20,
        "is_writable": True,
        "free_bytes": 1 << 40,
    },
    "torch": {"found": [], "is_alias": False, "shim_is_whole": False, "came_with_shim": []},
    "torchlikes": {"runs": "/v/torchlike", "found": ["/v/torchlike"], "installed": ["0.1.0"]},
    "environment": {},
    "ahead": {"tpu": None, "cuda": None, "other_libtpu": None},
}

SHIM = {"folder": "/v/torch", "version": "2.13.0+torchlike", "is_shim": True}
REAL = {"folder": "/w/torch", "version": "2.13.0+cpu", "is_shim": False}

#: What differs from the healthy machine, and how the problem begins.
WRONG = [
    (
        {"torch.found": [SHIM, REAL], "torch.shim_is_whole": True},
        "torchlike's torch (/v/torch) stands beside another (/w/torch): "
        "`import torch` is torchlike",
    ),
    (
        {"torch.found": [REAL, SHIM], "torch.shim_is_whole": True},
        "torchlike's torch (/v/torch) stands beside another (/w/torch): `import torch` is PyTorch",
    ),
    ({"torch.found": [SHIM]}, "torchlike's torch is not whole"),
    (
        {"torch.found": [SHIM], "torch.shim_is_whole": True, "system.activated": "/other"},
        "the active environment is /other",
    ),
    (
        {"torch.is_alias": True, "versions.installed.torchvision": "0.29.1+cu130"},
        "torchvision 0.29.1+cu130 is made for another torch than 2.13.0+torchlike: pip install "
        "torchvision==0.28.0",
    ),
    (
        {"torchlikes.found": ["/v/torchlike", "/x/torchlike"]},
        "there is another torchlike in /x/torchlike",
    ),
    (
        {"torchlikes.installed": ["0.1.0", "0.2.0"]},
        "torchlike is installed more than once (0.1.0, 0.2.0)",
    ),
    (
        {
            "versions.installed.jax": "0.9.1",
            "versions.installed.jaxlib": "0.9.1",
            "versions.required": ["jax>=0.10.2"],
        },
        "jax 0.9.1 is older than 0.10.2",
    ),
    ({"versions.required": ["flax>=0.12"]}, "flax is missing: pip install 'flax>=0.12'"),
    ({"versions.installed.jaxlib": "0.12.0"}, "jaxlib 0.12.0 is newer than jax 0.10.2"),
    (
        {"versions.installed.jax-cuda13-plugin": "0.9.0", "devices.backend": "gpu"},
        "jax-cuda13-plugin 0.9.0 and jaxlib 0.10.2 are not of one release",
    ),
    (
        {"versions.installed.jax-cuda13-plugin": "0.10.2", "system.has_nvidia": True},
        "jax-cuda13-plugin is installed, and JAX computes on the CPU",
    ),
    ({"devices.error": "no GPU"}, "JAX finds no device: no GPU"),
    ({"environment.JAX_ENABLE_X64": "0"}, "JAX_ENABLE_X64 turns 64-bit types off"),
    ({"caches.folder": None}, "there is no folder for compiled programs"),
    ({"caches.is_writable": False}, "/c cannot be written"),
    ({"caches.free_bytes": 1000}, "the disk of /c is full"),
    ({"system.shared_memory_bytes": 64 << 20}, "/dev/shm has 64 MiB free"),
    ({"threads.xla": 64}, "XLA starts 64 threads on 2 cores"),
]

FINE = [
    {},
    {"torch.found": [REAL]},
    {"torch.found": [SHIM], "torch.shim_is_whole": True},
    {"torch.is_alias": True, "versions.installed.torchvision": "0.28.0+cu130"},
    {"versions.installed.torchvision": "0.29.1"},
    {"versions.installed.jax": "0.12.0", "versions.installed.jaxlib": "0.12.0"},
    {"caches.folder": None, "environment.TORCHLIKE_CACHE_DIR": ""},
    {"system.shared_memory_bytes": None, "caches.free_bytes": None},
    {"versions.installed.jax-cuda13-plugin": "0.10.2"},  # `torchlike plan` compiles with it
]

NOTES = [
    ({"versions.installed.jaxlib": "0.11.0"}, "jaxlib 0.11.0 is not one that torchlike's flags"),
    ({"environment.TORCHLIKE_XLA_FLAGS": "system"}, "TORCHLIKE_XLA_FLAGS leaves XLA's flags"),
    ({"environment.OMP_NUM_THREADS": "1"}, "OMP_NUM_THREADS says nothing to XLA"),
    ({"system.has_nvidia": True}, "there is an NVIDIA GPU"),
]


def changed(changes):
    found = copy.deepcopy(HEALTHY)
    for path, value in changes.items():
        room, *names = path.split(".")
        place = found[room]
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
    return found


@pytest.mark.parametrize(("changes", "words"), WRONG, ids=lambda x: str(x)[:40])
def test_what_is_wrong_is_said(changes, words):
    (said,) = problems(changed(changes))
    assert said.startswith(words)


@pytest.mark.parametrize("changes", FINE, ids=str)
def test_what_is_not_wrong_is_not_said(changes):
    assert problems(changed(changes)) == []


@pytest.mark.parametrize(("changes", "words"), NOTES, ids=lambda x: str(x)[:40])
def test_what_is_worth_knowing_is_said(changes, words):
    (said,) = notes(changed(changes))
    assert said.startswith(words)
    assert notes(HEALTHY) == []


def test_the_facts_are_those_of_this_process():
    found = facts.collect()
    assert found.keys() == HEALTHY.keys()
    assert {room: found[room].keys() for room in found if room != "environment"} == {
        room: HEALTHY[room].keys() for room in found if room != "environment"
    }
    assert found["versions"]["installed"]["torch"] == torchlike.__version__
    assert any(required.startswith("jax>=") for required in found["versions"]["required"])
    for required in found["versions"]["required"]:  # each is looked for, so none is called missing
        assert re.match(r"[\w.-]+", required).group() in found["versions"]["installed"]
    assert found["devices"]["devices"]
    assert found["threads"]["xla"] == torchlike.get_num_threads()
    assert found["torchlikes"]["runs"] == os.path.dirname(os.path.realpath(torchlike.__file__))
    assert not found["torch"]["is_alias"]
    json.dumps(found)


@pytest.mark.parametrize(("changes", "code"), [({}, 0), ({"threads.xla": 64}, 1)])
def test_what_is_printed(monkeypatch, capsys, changes, code):
    monkeypatch.setattr(facts, "collect", lambda: changed(changes))
    written = io.StringIO()
    assert command.run(console=Console(file=written, width=80)) == code
    said = written.getvalue().splitlines()[0]
    assert said == (
        "✗ XLA starts 64 threads on 2 cores: see PJRT_NPROC" if code else "Nothing wrong was found."
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "torchlike 0.1.0 (torch 2.13.0+torchlike), /v/torchlike",
        "Python 3.11.7, /v/python",
        "Linux, glibc-2.36",
        "packages: jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6",
    ]
    assert "compiled programs: 3, 1 MiB, in /c" in lines
    assert (lines[-1].startswith("problem: XLA starts")) == bool(code)
    assert command.run(as_json=True) == code
    printed = json.loads(capsys.readouterr().out)
    assert printed["versions"]["installed"]["jax"] == "0.10.2"
    assert len(printed["problems"]) == code


def test_no_user_is_named(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert without_home("in /home/somebody/.cache") == "in ~/.cache"
    monkeypatch.setenv("HOME", "/")
    assert without_home("in /c") == "in /c"


def test_what_compiling_ahead_lacks():
    facts = copy.deepcopy(HEALTHY)
    assert notes(facts) == []
    facts["ahead"] = {"tpu": "libtpu", "cuda": None, "other_libtpu": "0.0.52, not 0.0.42"}
    lacking, other = notes(facts)
    assert "cannot compile for tpu: libtpu is not installed" in lacking
    assert "torchlike[plan]" in lacking
    assert "libtpu is 0.0.52, not 0.0.42" in other
    assert "tpu (not: libtpu is missing), cuda" in command.report(facts, [], [])
