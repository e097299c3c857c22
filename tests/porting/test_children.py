"""Processes that a program starts: in those of its Python ``torch`` is torchlike, in others not."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike
from torchlike.porting import children
from torchlike.porting.at_start import sitecustomize

ROOT = str(Path(torchlike.__file__).parent.parent)

#: The ways to start a process, and that a child says which torch it has.
SCRIPT = """
import json, os, subprocess, sys
from pathlib import Path
import torch
import multiprocessing, torch.multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor

SAYS = "import sys, torch; open(sys.argv[1], 'w').write(torch.__version__)"

def work(*names):
    for name in names:
        Path(str(name)).write_text(torch.__version__)

def joined(process):
    process.start()
    process.join()
    assert process.exitcode == 0

def of_executor(method):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        pool.submit(work, "executor").result()

def of_joblib():
    import joblib
    joblib.Parallel(2)(joblib.delayed(work)(name) for name in ("joblib",))

def run(*words, **options):
    subprocess.run([sys.executable, *words], check=True, **options)

if __name__ == "__main__":
    {statement}
"""

WAYS = {
    "fork": "joined(multiprocessing.get_context('fork').Process(target=work, args=['fork']))",
    "spawn": "joined(multiprocessing.get_context('spawn').Process(target=work, args=['spawn']))",
    "forkserver": "joined(multiprocessing.get_context('forkserver').Process("
    "target=work, args=['forkserver']))",
    "executor": "of_executor('spawn')",
    "joblib": "of_joblib()",
    "script": "run('child.py', 'script')",
    "command": "run('-c', SAYS, 'command')",
    "module": "run('-m', 'child', 'module', env={**os.environ, 'MORE': '1'})",
    "shell": "os.system(f'{sys.executable} child.py shell')",
    "grandchild": "run('-c', 'import os, sys; os.execv(sys.executable, "
    '[sys.executable, "child.py", "grandchild"])\')',
}


def write(tmp_path, statement):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("{statement}", statement))
    package = tmp_path / "elsewhere" / "torch" / "multiprocessing"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("__version__ = 'another package'")
    (package / "__init__.py").write_text("from multiprocessing import *")
    (tmp_path / "child.py").write_text(
        "import sys\nfrom pathlib import Path\nimport torch\n"
        "Path(sys.argv[1]).write_text(torch.__version__)\n"
    )
    return path


def python(tmp_path, *arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={
            **children.without_alias(os.environ),
            "PYTHONPATH": f"{tmp_path / 'elsewhere'}{os.pathsep}{ROOT}",
            **environment,
        },
        timeout=120,
    )


@pytest.mark.exhaustive
def test_torch_is_torchlike_in_every_child(tmp_path):
    ways = dict(WAYS)
    if importlib.util.find_spec("joblib") is None:
        del ways["joblib"]
    script = write(tmp_path, "\n    ".join(ways.values()))
    result = python(tmp_path, "-m", "torchlike", "run", str(script))
    assert (result.returncode, result.stderr) == (0, "")
    for way in ways:
        assert (tmp_path / way).read_text() == torchlike.__version__, way


#: What a child that imports no torch finds, and a module below torch run by `-m`.
ASKS = """
import importlib.metadata, importlib.util, json, os, sys
found = importlib.util.find_spec("torch"), importlib.metadata.version("torch")
from_path = list(importlib.metadata.distributions(name="torch", path=[]))
heavy = [name for name in ("torchlike", "jax", "torch") if name in sys.modules]
folders = [folder for folder in sys.path if folder.endswith("at_start")]
print(json.dumps([found[0] is not None, found[1], from_path, heavy, folders,
                  sys.modules["sitecustomize"].__file__, sys.modules["sitecustomize"].__name__]))
"""


@pytest.mark.exhaustive
def test_a_child_that_imports_no_torch_pays_nothing(tmp_path):
    write(tmp_path, "pass")
    own = tmp_path / "elsewhere" / "sitecustomize.py"
    told = {"PYTHONPATH": f"{tmp_path / 'elsewhere'}{os.pathsep}{ROOT}"}
    children.add_alias(told)
    assert told["PYTHONPATH"].split(os.pathsep)[0] == children.FOLDER
    ours = json.loads(python(tmp_path, "-c", ASKS, **told).stdout)
    assert ours[:5] == [True, torchlike.__version__, [], [], []]
    assert ours[5] == sitecustomize.__file__
    own.write_text("print('[\"the user\\'s\"]')")
    first, second = python(tmp_path, "-c", ASKS, **told).stdout.splitlines()
    assert json.loads(first) == ["the user's"]
    assert json.loads(second) == [*ours[:5], str(own), "sitecustomize"]
    own.write_text("import no_such_module")
    code = (
        "import torchlike.as_torch, torch, importlib.metadata as m\n"
        "assert len(list(m.distributions(name='torch', path=[]))) == 0\n"
        "assert [d.version for d in m.distributions(name='torch')][:1] == [torch.__version__]\n"
        "import sys; assert 'TorchOnDemand' not in map(lambda f: type(f).__name__, sys.meta_path)\n"
        "print(torch.__version__)\n"
    )
    result = python(tmp_path, "-c", code, **told)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in result.stderr
    assert result.stdout == f"{torchlike.__version__}\n"


def test_other_pythons_and_cleaned_environments_are_left_alone(tmp_path):
    write(tmp_path, "pass")
    told = {"PYTHONPATH": f"{tmp_path / 'elsewhere'}{os.pathsep}{ROOT}"}
    children.add_alias(told)
    assert children.has_alias(told)
    says = "import sys, torch; print(torch.__version__)"
    another = {**told, "TORCHLIKE_CHILDREN": "3.11:/another/environment"}
    assert python(tmp_path, "-c", says, **another).stdout == "another package\n"
    assert python(tmp_path, "-c", says, **{**told, "TORCHLIKE_CHILDREN": ""}).stdout == (
        "another package\n"
    )
    before = {"PYTHONPATH": "a", "HOME": "b"}
    after = dict(before)
    children.add_alias(after)
    children.add_alias(after)
    assert after["PYTHONPATH"] == f"{children.FOLDER}{os.pathsep}a"
    assert children.without_alias(after) == before
    alone: dict[str, str] = {}
    children.add_alias(alone)
    assert children.without_alias(alone) == {}


@pytest.mark.exhaustive
def test_torchlike_is_found_where_the_child_has_no_path_to_it(tmp_path):
    write(tmp_path, "pass")
    told = {"PYTHONPATH": str(tmp_path / "elsewhere")}
    children.add_alias(told)
    hidden = (
        # Nor is another one found, which may be installed beside the one that runs.
        "from importlib.machinery import PathFinder\nfind = PathFinder.find_spec\n"
        "PathFinder.find_spec = lambda name, path=None, target=None: (\n"
        "    None if (name, path) == ('torchlike', None) else find(name, path, target))\n"
        "import importlib.util\nprint(importlib.util.find_spec('torchlike'))\n"
        "import torch.nn, torchlike\nprint(torch.__version__, torch is torchlike)\n"
    )
    lines = python(tmp_path, "-c", hidden, **told).stdout.splitlines()
    assert lines == ["None", f"{torchlike.__version__} True"]


def test_a_failure_to_import_torchlike_does_not_bring_another_torch(tmp_path):
    write(tmp_path, "pass")
    told = {"PYTHONPATH": f"{tmp_path / 'elsewhere'}{os.pathsep}{ROOT}"}
    children.add_alias(told)
    code = (
        "for _ in range(2):\n"
        "    try:\n        import torch\n    except ValueError as error:\n        print(error)\n"
    )
    result = python(tmp_path, "-c", code, **told, TORCHLIKE_XLA_FLAGS="odd")
    assert [line[:28] for line in result.stdout.splitlines()] == [
        "TORCHLIKE_XLA_FLAGS is 'odd'"
    ] * 2


#: Where Python reads no environment, multiprocessing passes that on to its children.
DEAF = """
    for statement in (
        "mp.spawn(work, nprocs=2)",
        "joined(mp.get_context('spawn').Process(target=work))",
        "mp.get_context('forkserver').Pool(2)",
    ):
        try:
            eval(statement)
        except NotImplementedError as error:
            print(str(error)[:23], "import torchlike as torch" in str(error))
    for _ in range(2): joined(multiprocessing.get_context('spawn').Process(target=int))
    m = mp.get_context('spawn').Manager(); print(m.list([1])); m.shutdown()
"""


@pytest.mark.exhaustive
def test_where_children_hear_nothing_they_are_refused_or_told_of(tmp_path):
    pytest.importorskip("torch")  # such a child imports PyTorch itself
    script = write(tmp_path, DEAF.strip())
    result = python(tmp_path, "-E", "-m", "torchlike", "run", str(script))
    assert result.stdout.splitlines() == ["torch.multiprocessing.s True"] + [
        "torch.multiprocessing.P True"
    ] * 2 + ["[1]"], result.stderr
    told = [line for line in result.stderr.splitlines() if "RuntimeWarning" in line]
    line = SCRIPT.splitlines().index("    process.start()") + 1
    assert [t.partition(" A process")[0] for t in told] == [f"{script}:{line}: RuntimeWarning:"]


@pytest.mark.exhaustive
def test_a_script_that_names_torchlike_itself_starts_processes(tmp_path):
    statement = "mp.spawn(work); joined(mp.get_context('spawn').Process(target=work, args=['a']))"
    script = write(tmp_path, statement)
    text = script.read_text().replace("import torch\n", "import torchlike as torch\n")
    script.write_text(text.replace("torch.multiprocessing as", "torchlike.multiprocessing as"))
    result = python(tmp_path, str(script))
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "0").read_text() == torchlike.__version__
    assert (tmp_path / "a").read_text() == torchlike.__version__


def test_contexts_are_those_of_the_standard_library():
    mp = torchlike.multiprocessing
    context = mp.get_context("spawn")
    assert context is mp.get_context("spawn")
    assert context.get_start_method() == "spawn"
    with pytest.raises(ValueError, match="cannot find context for 'x'"):
        mp.get_context("x")


#: Commands that run a script whose torch would not be torchlike, and such that do not.
COMMANDS = {
    "[sys.executable, 'other.py'], env=poor": True,
    "[sys.executable, '-u', 'other.py', '--lr', '3'], env=poor": True,
    "[sys.executable, '-c', 'import torch.nn'], env=poor": True,
    "(sys.executable, Path('other.py')), env=poor": True,
    "[os.path.join(os.path.dirname(sys.executable), 'python'), 'other.py'], env=poor": True,
    "[sys.executable, '-I', 'other.py']": True,
    "[sys.executable, '-uES', 'other.py']": True,
    "[sys.executable, 'other.py']": False,
    "[sys.executable, '-c', 'import sys; sys.exit() # import torch', '-I']": False,
    "['/usr/bin/python3', 'other.py'], env=poor": False,
    "[sys.executable, '-m', 'torchlike', 'run', 'other.py'], env=poor": False,
    "[sys.executable, '-c', 'import torchlike as torch, other_torch'], env=poor": False,
    "[sys.executable, 'plain.py'], env=poor": False,
    "[sys.executable, '-c', 'import torchlike.as_torch\\nimport torch'], env=poor": False,
    "[sys.executable, 'missing.py'], env=poor": False,
    "['true', 'other.py'], env=poor": False,
    "[sys.executable, '--version'], env=poor": False,
}


@pytest.mark.exhaustive
def test_a_script_that_will_have_another_torch_is_told_of(tmp_path):
    (tmp_path / "other.py").write_text("if True:\n    from torch import nn\n")
    (tmp_path / "plain.py").write_text("from torchlike import nn  # import torch\n")
    lines = [
        f"    tried(lambda: subprocess.Popen({command}), {told})\n"
        for command, told in COMMANDS.items()
    ]
    (tmp_path / "script.py").write_text(
        "import os, subprocess, sys, warnings\nfrom pathlib import Path\nimport torch\n"
        "from torchlike._core import errors\n"
        "poor = {'PATH': os.environ['PATH']}\n"
        "subprocess.Popen._execute_child = lambda *words: None  # starts nothing\n"
        "subprocess.Popen.__del__ = lambda self: None\n"
        "def tried(start, told):\n"
        "    errors._given.clear()\n"
        "    with warnings.catch_warnings(record=True) as seen:\n"
        "        warnings.simplefilter('always')\n"
        "        start()\n"
        "    words = [str(w.message) for w in seen if w.category is RuntimeWarning]\n"
        "    assert len([w for w in words if 'imports torch' in w]) == told, (start, words)\n"
        "    assert all(w.filename == __file__ for w in seen), seen\n"
        "if True:\n" + "".join(lines)
    )
    result = python(tmp_path, "-m", "torchlike", "run", "script.py")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.exhaustive
def test_install_alias_tells_children_too(tmp_path):
    script = write(tmp_path, WAYS["command"])
    script.write_text("import torchlike\ntorchlike.install_alias()\n" + script.read_text())
    result = python(tmp_path, str(script))
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "command").read_text() == torchlike.__version__
