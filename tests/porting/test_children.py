"""Processes in which ``torch`` would not be torchlike: refused, or told of, before they start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

ROOT = str(Path(torchlike.__file__).parent.parent)

#: Where `torch` is a package of its own in the child, a file says that one was there.
SCRIPT = """
import sys, torch
import multiprocessing, torch.multiprocessing as mp

def work(*args):
    from pathlib import Path
    Path("child").write_text(torch.__version__)

def joined(process):
    process.start()
    process.join()
    assert process.exitcode == 0

class Own(mp.Process):
    def run(self):
        work()

if __name__ == "__main__":
    {statement}
"""

#: Every way from torch.multiprocessing to a process that starts Python anew.
REFUSED = [
    "mp.spawn(work, nprocs=2)",
    "mp.spawn(work, nprocs=2, join=False)",
    "mp.start_processes(work, nprocs=2)",
    "mp.start_processes(work, nprocs=2, start_method='forkserver')",
    "joined(mp.get_context('spawn').Process(target=work))",
    "joined(mp.get_context('forkserver').Process(target=work))",
    "mp.get_context('spawn').Pool(2)",
    "mp.set_start_method('spawn'); joined(mp.Process(target=work))",
    "mp.set_start_method('spawn'); joined(Own())",
    "mp.set_start_method('spawn'); mp.Pool(2)",
    "mp.set_start_method('spawn'); mp.get_context().Pool(2)",
    "from concurrent.futures import ProcessPoolExecutor as E; "
    "E(1, mp_context=mp.get_context('spawn')).submit(work).result()",
]

#: Ways of the standard library and of joblib, which may need no torch: the line is told, once.
TOLD = [
    "for _ in range(2): joined(multiprocessing.get_context('spawn').Process(target=work))",
    "multiprocessing.set_start_method('forkserver'); "
    "joined(multiprocessing.Process(target=work)); joined(multiprocessing.Process(target=work))",
    "with multiprocessing.get_context('spawn').Pool(2) as pool: pool.map(work, range(2))",
    "from concurrent.futures import ProcessPoolExecutor as E; "
    "[*E(1, mp_context=multiprocessing.get_context('spawn')).map(work, range(2))]",
]


def write(tmp_path, statement):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(statement=statement))
    (tmp_path / "elsewhere" / "torch" / "multiprocessing").mkdir(parents=True)
    package = tmp_path / "elsewhere" / "torch"
    (package / "__init__.py").write_text("__version__ = 'another package'")
    (package / "multiprocessing" / "__init__.py").write_text("from multiprocessing import *")
    return path


def python(tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'elsewhere'}{os.pathsep}{ROOT}"},
        timeout=120,
    )


@pytest.mark.parametrize("statement", REFUSED)
def test_torch_multiprocessing_starts_no_stranger(tmp_path, statement):
    script = write(tmp_path, statement)
    result = python(tmp_path, "-m", "torchlike", "run", str(script))
    assert result.returncode == 1
    error = result.stderr.splitlines()[-1]
    assert error.startswith("NotImplementedError: torch.multiprocessing.")
    assert "import torchlike as torch" in error
    assert not (tmp_path / "child").exists()


@pytest.mark.parametrize("statement", TOLD)
def test_the_standard_library_is_told_of_once_at_the_users_line(tmp_path, statement):
    script = write(tmp_path, statement)
    result = python(tmp_path, "-m", "torchlike", "run", str(script))
    assert result.returncode == 0, result.stderr
    line = SCRIPT.splitlines().index("    {statement}") + 1
    joined = SCRIPT.splitlines().index("    process.start()") + 1
    told = [line for line in result.stderr.splitlines() if "RuntimeWarning" in line]
    assert len(told) == 1
    assert told[0].startswith(tuple(f"{script}:{n}: RuntimeWarning: " for n in (line, joined)))
    assert (tmp_path / "child").read_text() == "another package"


def test_processes_of_joblib_are_told_of(tmp_path):
    pytest.importorskip("joblib")
    script = write(tmp_path, "import joblib as j; j.Parallel(2)(j.delayed(work)() for _ in 'ab')")
    result = python(tmp_path, "-m", "torchlike", "run", str(script))
    assert result.returncode == 0, result.stderr
    assert "A process with the start method 'loky'" in result.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot copy a process")
def test_a_copy_of_this_process_knows_torchlike(tmp_path):
    statement = "mp.start_processes(work, start_method='fork')"
    script = write(tmp_path, statement)
    result = python(tmp_path, "-m", "torchlike", "run", str(script))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "child").read_text() == torchlike.__version__


def test_a_script_that_names_torchlike_itself_starts_processes(tmp_path):
    script = write(tmp_path, "mp.spawn(work); joined(mp.get_context('spawn').Process(target=work))")
    text = script.read_text().replace("sys, torch\n", "sys, torchlike as torch\n")
    script.write_text(text.replace("torch.multiprocessing as", "torchlike.multiprocessing as"))
    result = python(tmp_path, str(script))
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "child").read_text() == torchlike.__version__


def test_install_alias_refuses_them_too(tmp_path):
    script = write(tmp_path, "mp.spawn(work, nprocs=2)")
    script.write_text("import torchlike\ntorchlike.install_alias()\n" + script.read_text())
    result = python(tmp_path, str(script))
    assert result.stderr.splitlines()[-1].startswith("NotImplementedError: torch.multiprocessing.")
    assert not (tmp_path / "child").exists()


def test_a_manager_runs_no_code_of_the_script(tmp_path):
    statement = "m = mp.get_context('spawn').Manager(); print(m.list([1])); m.shutdown()"
    result = python(tmp_path, "-m", "torchlike", "run", str(write(tmp_path, statement)))
    assert (result.returncode, result.stdout) == (0, "[1]\n")


def test_contexts_are_those_of_the_standard_library():
    mp = torchlike.multiprocessing
    context = mp.get_context("spawn")
    assert context is mp.get_context("spawn")
    assert context.get_start_method() == "spawn"
    with pytest.raises(ValueError, match="cannot find context for 'x'"):
        mp.get_context("x")


#: Commands that run a script which imports torch, and such that do not.
COMMANDS = {
    "[sys.executable, 'other.py']": True,
    "[sys.executable, '-u', 'other.py', '--lr', '3']": True,
    "['python3', 'other.py']": True,
    "[sys.executable, '-c', 'import torch.nn']": True,
    "(sys.executable, Path('other.py'))": True,
    "[sys.executable, '-m', 'torchlike', 'run', 'other.py']": False,
    "[sys.executable, '-c', 'import torchlike as torch, other_torch']": False,
    "[sys.executable, 'plain.py']": False,
    "[sys.executable, '-c', 'import torchlike.as_torch\\nimport torch']": False,
    "[sys.executable, 'missing.py']": False,
    "['true', 'other.py']": False,
    "[sys.executable, '--version']": False,
}


def test_a_script_that_imports_torch_is_told_of_when_another_program_runs_it(tmp_path):
    (tmp_path / "other.py").write_text("if True:\n    from torch import nn\n")
    (tmp_path / "plain.py").write_text("from torchlike import nn  # import torch\n")
    tests = [f"({command}, {told})" for command, told in COMMANDS.items()]
    (tmp_path / "script.py").write_text(
        "import subprocess, sys, warnings\nfrom pathlib import Path\nimport torch\n"
        "from torchlike._core import errors\n"
        f"for command, told in [{', '.join(tests)}]:\n"
        "    errors._given.clear()\n"
        "    with warnings.catch_warnings(record=True) as seen:\n"
        "        warnings.simplefilter('always')\n"
        "        try:\n"
        "            subprocess.run(command, capture_output=True)\n"
        "        except OSError as error:\n"
        "            print(error, file=sys.stderr)\n"
        "    words = [str(w.message) for w in seen if w.category is RuntimeWarning]\n"
        "    words = [word for word in words if 'imports torch' in word]\n"
        "    assert len(words) == told, (command, words)\n"
        "    assert all(w.filename == __file__ for w in seen), seen\n"
    )
    result = python(tmp_path, "-m", "torchlike", "run", "script.py")
    assert (result.returncode, result.stderr) == (0, "")
