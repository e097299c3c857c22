"""`torchlike shim`: a torch that is torchlike, put into environments and taken away."""

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path

import pytest

import torchlike
from torchlike.porting import children
from torchlike.porting.shim import changes, command, companions, contents
from torchlike.porting.shim.changes import ShimRefusedError
from torchlike.porting.shim.environment import Environment

ROOT = str(Path(torchlike.__file__).parent.parent)


@pytest.fixture
def environment(tmp_path):
    """An environment of folders, in which nothing runs."""
    packages = tmp_path / "packages"
    packages.mkdir()
    other = tmp_path / "other"
    other.mkdir()
    return Environment(str(tmp_path), packages, (str(packages), str(other)), is_virtual=True)


def listed(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def real_torch(folder, version="2.13.0+cpu"):
    """What an installation of PyTorch looks like from afar."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("raise SystemExit('the real one')\n")
    info = folder / f"torch-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    (info / "INSTALLER").write_text("pip\n")


def test_what_is_installed_is_a_distribution(environment):
    assert changes.install(environment)
    (found,) = distributions(name="torch", path=[str(environment.packages)])
    assert (found.version, found.requires[0]) == (torchlike.__version__, "torchlike")
    assert found.read_text("INSTALLER") == "torchlike\n"
    assert found.read_text("top_level.txt") == "torch\n"
    rows = list(csv.reader(found.read_text("RECORD").splitlines()))
    files = [path for path in environment.packages.rglob("*") if path.is_file()]
    assert {row[0] for row in rows} == {str(p.relative_to(environment.packages)) for p in files}
    for path, digest, size in rows:
        content = (environment.packages / path).read_bytes()
        if digest:
            made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert (digest, size) == (f"sha256={made.rstrip('=')}", str(len(content)))
    assert sum(not row[1] for row in rows) == 2


@pytest.mark.parametrize("wanted", ["torch", "torch>=2.0", "torch==2.13.0", "torch<4.0,>=2.1.0"])
def test_requirements_of_torch_are_met(wanted):
    requirements = pytest.importorskip("packaging.requirements")
    assert requirements.Requirement(wanted).specifier.contains(contents.VERSION, prereleases=True)


def test_installing_twice_is_installing_once_and_removing_leaves_nothing(environment):
    before = listed(environment.packages)
    assert changes.install(environment)
    first = {p: p.stat().st_mtime_ns for p in environment.packages.rglob("*")}
    changes.write_brought(environment.packages, ["pillow"])
    assert not changes.install(environment)
    assert changes.read_brought(environment.packages) == ["pillow"]
    assert first.keys() == set(environment.packages.rglob("*"))
    cache = environment.packages / "torch" / "__pycache__"
    cache.mkdir()
    (cache / "__init__.cpython-311.pyc").write_bytes(b"")
    (cache / "__init__.cpython-312.opt-1.pyc").write_bytes(b"")
    assert [p.name for p in changes.remove(environment)] == ["torch", contents.DIST_INFO]
    assert listed(environment.packages) == before
    assert changes.remove(environment) == []


def test_the_shim_of_another_torchlike_is_renewed(environment):
    changes.install(environment)
    old = environment.packages / "torch-2.12.0+torchlike.dist-info"
    (environment.packages / contents.DIST_INFO).rename(old)
    (old / "RECORD").write_text((old / "RECORD").read_text().replace("2.13.0", "2.12.0"))
    changes.install(environment)
    assert listed(environment.packages) == sorted(
        [*contents.files(), contents.PACKAGE, contents.DIST_INFO]
    )


@pytest.mark.parametrize("where", ["packages", "other"])
def test_it_is_refused_where_pytorch_is(environment, where):
    folder = environment.packages.parent / where
    real_torch(folder)
    before = listed(environment.packages)
    for anywhere in (False, True):
        with pytest.raises(ShimRefusedError, match=r"there is torch 2\.13\.0\+cpu in .*corrupt"):
            changes.install(environment, anywhere=anywhere)
    assert listed(environment.packages) == before
    assert changes.remove(environment) == []
    assert listed(environment.packages) == before


def test_it_is_refused_where_pip_knows_nothing_of_a_torch(environment):
    (environment.packages / "torch").mkdir()
    (environment.packages / "torch" / "left.py").write_text("")
    with pytest.raises(ShimRefusedError, match=r"there is torch \(unknown to pip\) in "):
        changes.install(environment)


def test_it_is_refused_outside_of_virtual_environments(environment):
    outside = replace(environment, is_virtual=False)
    with pytest.raises(ShimRefusedError, match=r"is not a virtual environment, .* --anywhere"):
        changes.install(outside)
    stranger = replace(environment, activated="/another")
    with pytest.raises(ShimRefusedError, match=r"the active environment is /another, .*--anywhere"):
        changes.install(stranger)
    assert listed(environment.packages) == []
    assert changes.install(outside, anywhere=True)


@pytest.mark.parametrize("failing", [contents.PACKAGE, contents.DIST_INFO])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_nothing_is_half_installed(environment, monkeypatch, failing, error):
    rename = Path.rename

    def fails(path, target):
        if path.name == failing:
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(ShimRefusedError if isinstance(error, OSError) else KeyboardInterrupt):
        changes.install(environment)
    assert listed(environment.packages) == []


@pytest.mark.parametrize("half", [contents.PACKAGE, contents.DIST_INFO])
def test_half_a_shim_is_completed(environment, half):
    changes.install(environment)
    whole = listed(environment.packages)
    for path in sorted((environment.packages / half).rglob("*")):
        path.unlink()
    (environment.packages / half).rmdir()
    assert not changes.is_whole(environment)
    assert changes.install(environment)
    assert listed(environment.packages) == whole


@pytest.mark.parametrize("half", [contents.PACKAGE, contents.DIST_INFO])
def test_half_a_shim_is_none(environment, monkeypatch, half):
    """What asks for the exit code is not told that all is well."""
    monkeypatch.setattr(command, "here", lambda: environment)
    changes.install(environment)
    assert command.run("status") == 0
    shutil.rmtree(environment.packages / half)
    assert command.run("status") == 1
    assert command.run("remove") == 0
    assert listed(environment.packages) == []


def test_what_killed_processes_left_goes(environment, monkeypatch, capsys):
    """Folders of processes that have ended, and the shim's own without files; of none that runs."""
    monkeypatch.setattr(command, "here", lambda: environment)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    packages = environment.packages
    made = f".torchlike-shim-{ended.pid}-abc"
    running = f".torchlike-shim-{os.getppid()}-abc"
    for name in (
        made,
        running,
        ".torchlike-shim-k2xy_0ab",
        "torch/__pycache__",
        contents.DIST_INFO,
    ):
        (packages / name).mkdir(parents=True)
    (packages / made / "METADATA").touch()
    (packages / "torch" / "__pycache__" / "__init__.cpython-311.pyc").touch()
    assert command.run("status") == 1
    assert f"left by a process that was killed: {packages / made}" in capsys.readouterr().out
    assert command.run("remove") == 0
    assert listed(packages) == [running]
    (packages / "torch").mkdir()
    (packages / "torch" / "mine.py").touch()
    assert command.run("remove") == 0
    assert "torch/mine.py" in listed(packages)


def test_a_file_of_somebody_else_stays(environment):
    changes.install(environment)
    (environment.packages / "torch" / "theirs.py").write_text("")
    changes.remove(environment)
    assert listed(environment.packages) == ["torch", "torch/theirs.py"]


# --- what came with it


def distribution(environment, name, *requires):
    info = environment.packages / f"{name}-1.0.dist-info"
    info.mkdir()
    lines = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{lines}")


def test_what_came_with_it_goes_unless_others_want_it(environment, monkeypatch):
    ran = []
    monkeypatch.setattr(companions, "_run_installer", lambda *words: ran.append(words))
    distribution(environment, "torchvision", "torch (==2.13.0)", "pillow (!=8.3.*,>=5.3.0)")
    distribution(environment, "pillow")
    distribution(environment, "torchaudio")
    distribution(environment, "reader", "torchaudio ; extra == 'audio'")
    came = ["torchvision", "pillow", "torchaudio", "gone"]
    assert companions.remove(environment, came) == {}
    assert ran.pop() == ("uninstall", ["pillow", "torchaudio", "torchvision"])
    distribution(environment, "timm", "torch", "torchvision")
    assert companions.remove(environment, came) == {
        "torchvision": ["timm"],
        "pillow": ["torchvision"],
    }
    assert ran == [("uninstall", ["torchaudio"])]


@pytest.mark.parametrize("has", ["pip", "uv", ""])
def test_the_installer_is_pip_or_else_uv(monkeypatch, has):
    ran = []
    monkeypatch.setattr(companions.importlib.util, "find_spec", lambda name: has == name or None)
    monkeypatch.setattr(companions.shutil, "which", lambda name: "/bin/uv" if has == name else None)
    monkeypatch.setattr(
        companions, "_run", lambda words: ran.append(words) or subprocess.CompletedProcess(words, 0)
    )
    if not has:
        with pytest.raises(ShimRefusedError, match="neither pip nor uv here to uninstall a: "):
            companions._run_installer("uninstall", ["a"])
        return
    for action in ("install", "uninstall"):
        companions._run_installer(action, ["a"])
    assert (
        ran
        == {
            "pip": [
                [sys.executable, "-m", "pip", "install", "a"],
                [sys.executable, "-m", "pip", "uninstall", "-y", "a"],
            ],
            "uv": [
                ["/bin/uv", "pip", "install", "--python", sys.executable, "a"],
                ["/bin/uv", "pip", "uninstall", "--python", sys.executable, "a"],
            ],
        }[has]
    )


def test_what_was_there_before_is_not_brought(environment, monkeypatch):
    monkeypatch.setattr(companions, "_run_installer", lambda *words: pytest.fail(str(words)))
    distribution(environment, "torchvision")
    assert companions.install(environment, ["torchvision"]) == []


def test_what_fails_to_install_leaves_nothing(environment, monkeypatch):
    ran = []

    def installer(action, words):
        ran.append((action, words[-1]))
        if action == "install":
            distribution(environment, "pillow")
            raise ShimRefusedError("no network")

    monkeypatch.setattr(companions, "_run_installer", installer)
    monkeypatch.setattr(command, "here", lambda: environment)
    assert command.run("install", names=["torchvision"]) == 1
    assert ran == [("install", "torchvision==0.28.0"), ("uninstall", "pillow")]
    assert listed(environment.packages) == ["pillow-1.0.dist-info", "pillow-1.0.dist-info/METADATA"]


def test_what_the_command_says(environment, monkeypatch, capsys):
    monkeypatch.setattr(command, "here", lambda: environment)
    assert command.run("status") == 1
    assert command.run("install") == 0
    distribution(environment, "torchvision")
    assert command.run("install") == 0
    assert command.run("status") == 0
    (environment.packages / "torch" / "__init__.py").write_text(contents.FIRST_LINE)
    assert command.run("status") == 1
    real_torch(environment.packages.parent / "other")
    assert command.run("status") == 1
    assert command.run("install") == 1
    assert command.run("remove") == 0
    assert command.run("remove") == 0
    packages, version = environment.packages, contents.VERSION
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        f"no torch in {packages}",
        f"torch {version} is in {packages}; `import torch` is torchlike",
        command._HINT,
        f"torch {version} was already in {packages}; `import torch` is torchlike",
        f"torchlike's torch {version} in {packages}",
        f"torchlike's torch {version} in {packages}",
        "it is not whole, or of another torchlike: `torchlike shim install` renews it",
        f"torchlike's torch {version} in {packages}",
        f"torch 2.13.0+cpu in {packages.parent / 'other'}",
        "it is not whole, or of another torchlike: `torchlike shim install` renews it",
        "more than one torch: the first is imported, and they may corrupt each other",
        f"removed {packages / 'torch'}",
        f"removed {packages / contents.DIST_INFO}",
        f"torchlike's torch was not in {packages}",
    ]
    assert said.err.startswith("torchlike: there is torch 2.13.0+cpu in ")


def test_torchrun_comes_and_goes_with_the_shim(environment):
    environment = replace(environment, scripts=environment.packages.parent / "bin")
    environment.scripts.mkdir()
    path = environment.scripts / "torchrun"
    assert changes.install(environment)
    assert os.access(path, os.X_OK)
    assert not changes.install(environment)
    (found,) = distributions(name="torch", path=[str(environment.packages)])
    assert "../bin/torchrun" in {
        row[0] for row in csv.reader(found.read_text("RECORD").splitlines())
    }
    path.unlink()
    assert not changes.is_whole(environment)
    assert changes.install(environment)
    assert changes.remove(environment)[-1] == path
    assert listed(environment.scripts) == []


def test_a_torchrun_of_somebody_elses_stays(environment):
    environment = replace(environment, scripts=environment.packages.parent / "bin")
    environment.scripts.mkdir()
    path = environment.scripts / "torchrun"
    path.write_text("#!/bin/sh\n")
    assert changes.install(environment)
    (found,) = distributions(name="torch", path=[str(environment.packages)])
    assert "bin/torchrun" not in found.read_text("RECORD")
    assert changes.is_whole(environment)
    changes.remove(environment)
    assert path.read_text() == "#!/bin/sh\n"


# --- in a real environment

USES = """
import torch.nn.functional as F
from torch.utils.data import DataLoader
import importlib.metadata, multiprocessing, subprocess, sys
import torch, torch.nn as nn, torchlike

def version(queue):
    queue.put(torch.__version__)

if __name__ == "__main__":
    assert torch is torchlike and F is torchlike.nn.functional and nn is torchlike.nn
    assert importlib.metadata.version("torch") == torch.__version__
    assert len(list(importlib.metadata.distributions(name="torch"))) == 1
    assert importlib.metadata.files("torch")
    calls = []
    twice = torch.compile(lambda x: calls.append(1) or x + x)
    assert [twice(torch.ones(1)).item() for _ in range(3)] == [2.0] * 3
    assert len(calls) == 3  # TORCHLIKE_COMPILE=off is heeded
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=version, args=(queue,))
    process.start()
    print(queue.get(), flush=True)
    process.join()
    subprocess.run([sys.executable, "-m", "torch.utils.collect_env"], check=True)
"""


RANKS = """
import torch, torch.distributed as dist

dist.init_process_group("gloo")
print(f"{dist.get_rank()}/{dist.get_world_size()}")
dist.destroy_process_group()
"""


@pytest.fixture
def python(tmp_path):
    """A virtual environment that sees what this one does, but no torch."""
    links = tmp_path / "links"
    links.mkdir()
    names = set()
    for folder in {sysconfig.get_path("purelib"), *sys.path}:
        if folder.endswith("site-packages") and os.path.isdir(folder):
            for entry in os.scandir(folder):
                stem = entry.name.partition(".")[0].partition("-")[0]
                hidden = stem.startswith(("torch", "functorch", "__")) or entry.name.endswith("pth")
                if not hidden and entry.name not in names:
                    names.add(entry.name)
                    (links / entry.name).symlink_to(entry.path)
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    (Path(found.stdout.strip()) / "links.pth").write_text(f"{links}\n{ROOT}\n")
    environment = children.without_alias(os.environ)
    environment.pop("PYTHONPATH", None)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["VIRTUAL_ENV"] = str(tmp_path / "venv")

    def run(*words, **more):
        return subprocess.run(
            [python, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**environment, **more},
        )

    return run


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="an environment of symbolic links")
def test_torch_is_torchlike_in_the_environment(tmp_path, python):
    pytest.importorskip("pip")
    before = listed(tmp_path / "venv")
    shim = ("-m", "torchlike", "shim")
    result = python(*shim, "install")
    assert (result.returncode, result.stderr) == (0, "")
    (tmp_path / "script.py").write_text(USES)
    result = python("script.py", TORCHLIKE_COMPILE="off")
    assert result.stderr == ""
    assert result.stdout.splitlines()[:3] == [
        torchlike.__version__,
        "Collecting environment information...",
        f"torch_version: {torchlike.__version__}",
    ]
    assert listed(tmp_path / "venv") != before
    (tmp_path / "ranks.py").write_text(RANKS)
    result = python("venv/bin/torchrun", "--standalone", "--nproc-per-node", "2", "ranks.py")
    assert result.returncode == 0, result.stderr
    assert sorted("".join(result.stdout.split())) == sorted("0/21/2")  # lines may mix
    hidden = "import sys, importlib.util as u; f = u.find_spec\n"
    hidden += "u.find_spec = lambda name, *a: None if name == 'torchlike' else f(name, *a)\n"
    result = python("-c", hidden + "import torch")
    assert "torchlike is not installed: install torchlike, or take it away" in result.stderr
    result = python("-m", "torchlike", "compare", "--torch", "script.py")  # that is no PyTorch
    assert (result.returncode, "--torch needs real PyTorch" in result.stdout) == (2, True)
    result = python("-m", "pip", "uninstall", "-y", "torch")
    assert "Successfully uninstalled torch-2.13.0+torchlike" in result.stdout, result.stderr
    assert listed(tmp_path / "venv") == before
