"""`torchlike.porting.script` held against `python` itself: the same script, the same everything."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import torchlike

RUNNER = str(Path(__file__).with_name("run_script.py"))
ROOT = str(Path(torchlike.__file__).parent.parent)

SHOW = """
import sys
print(__name__, __file__, __package__, __spec__ and __spec__.name, type(__loader__).__name__)
print(sys.argv, sys.path[0], sys.modules['__main__'].__dict__ is globals())
print(sorted(name for name in globals() if name != '__warningregistry__'))
"""


def execute(command, cwd, stdin=None):
    # PYTHONPATH lets the runner find the package; plain Python gets the same environment.
    result = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    stderr = [line for line in result.stderr.splitlines() if "<frozen runpy>" not in line]
    program = f"{sys.executable}: "
    stderr = [line.replace(program, "torchlike: ") for line in stderr]
    # The frames below the script's count against the recursion limit.
    stderr = [re.sub(r"repeated \d+ more", "repeated N more", line) for line in stderr]
    return result.returncode, result.stdout, "\n".join(stderr)


def assert_like_python(arguments, cwd, stdin=None):
    expected = execute(arguments, cwd, stdin)
    assert execute([RUNNER, *arguments], cwd, stdin) == expected
    return expected


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_names_paths_and_arguments(tmp_path):
    write(tmp_path, "sub/show.py", SHOW)
    code, out, _ = assert_like_python(
        ["sub/../sub/show.py", "-m", "--lr", "3", "--", "-h"], tmp_path
    )
    assert code == 0
    assert "['sub/../sub/show.py', '-m', '--lr', '3', '--', '-h']" in out


def test_neighbours_of_the_script_can_be_imported(tmp_path):
    write(tmp_path, "sub/neighbour.py", "value = 3")
    write(tmp_path, "sub/main.py", "import neighbour; print(neighbour.value)")
    assert assert_like_python(["sub/main.py"], tmp_path)[:2] == (0, "3\n")


def test_neighbours_of_a_linked_script_are_those_of_its_target(tmp_path):
    write(tmp_path, "sub/neighbour.py", "value = 3")
    write(tmp_path, "sub/main.py", "import neighbour; print(neighbour.value, __file__)")
    (tmp_path / "link.py").symlink_to(tmp_path / "sub" / "main.py")
    assert assert_like_python(["link.py"], tmp_path)[0] == 0


def test_module_of_a_package(tmp_path):
    write(tmp_path, "pack/__init__.py", "import sys; print(sys.argv)")
    write(tmp_path, "pack/mod.py", SHOW + "from . import other")
    write(tmp_path, "pack/other.py", "")
    assert assert_like_python(["-m", "pack.mod", "--lr", "3"], tmp_path)[0] == 0


def test_package_with_a_main_module(tmp_path):
    write(tmp_path, "pack/__init__.py", "")
    write(tmp_path, "pack/__main__.py", SHOW)
    assert assert_like_python(["-m", "pack", "a"], tmp_path)[0] == 0


def test_folder_with_a_main_module(tmp_path):
    write(tmp_path, "app/__main__.py", SHOW)
    assert assert_like_python(["app", "a"], tmp_path)[0] == 0


def test_zip_file_with_a_main_module(tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    assert assert_like_python(["app.zip", "a"], tmp_path)[0] == 0


def test_script_from_standard_input(tmp_path):
    program = "import sys; print(sys.argv, repr(sys.path[0]), __name__)\nraise ValueError('no')"
    assert assert_like_python(["-", "a"], tmp_path, stdin=program)[0] == 1


@pytest.mark.parametrize("missing", ["nope.py", "a/b/nope.py", "empty", "nope/"])
def test_missing_script(tmp_path, missing):
    (tmp_path / "empty").mkdir()
    code, out, err = assert_like_python([missing], tmp_path)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("torchlike: can't ")


@pytest.mark.parametrize("missing", ["nope", "nope.sub", "pack", "pack.nope", "pack.mod.nope"])
def test_missing_module(tmp_path, missing):
    write(tmp_path, "pack/__init__.py", "")
    write(tmp_path, "pack/mod.py", "")
    code, _, err = assert_like_python(["-m", missing], tmp_path)
    assert code == 1
    assert missing in err


@pytest.mark.parametrize(
    "source",
    [
        b"def f(:\n    pass\n",
        b"if True:\nprint(1)\n",
        b"# coding: latin-1\nx = '\xe9'\nraise ValueError(x)\n",
        b"\xef\xbb\xbfraise ValueError('after a byte order mark')\n",
        b"return 1\n",
    ],
)
def test_syntax_errors_and_encodings(tmp_path, source):
    (tmp_path / "bad.py").write_bytes(source)
    code, out, err = assert_like_python(["bad.py"], tmp_path)
    assert code == 1
    assert out == ""
    assert "Error" in err


@pytest.mark.parametrize("source", [b"print(1)\n\x00", b"x = '\xe9'\n", b"# coding: no-such\n"])
def test_undecodable_source(tmp_path, source):
    # Python reads a script's file by a way of its own, with other words than compile()'s.
    (tmp_path / "bad.py").write_bytes(source)
    code, out, err = execute([RUNNER, "bad.py"], tmp_path)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("SyntaxError: ")
    assert "torchlike" not in err


@pytest.mark.parametrize("value", ["", "0", "1", "7", "None", "'a message'", "True", "(1, 2)"])
def test_exit_codes(tmp_path, value):
    write(tmp_path, "leave.py", f"import sys; print('before'); sys.exit({value})")
    assert_like_python(["leave.py"], tmp_path)


RAISING = {
    "plain": "def f(x):\n    return 1 / x\nf(0)\n",
    "chained": """
try:
    {}["key"]
except KeyError as error:
    raise RuntimeError("outer") from error
""",
    "in context": """
try:
    {}["key"]
except KeyError:
    raise RuntimeError("outer")
""",
    "group": """
def fail(n):
    raise ValueError(n)
errors = []
for n in range(2):
    try:
        fail(n)
    except ValueError as error:
        errors.append(error)
raise ExceptionGroup("several", errors)
""",
    "in a library": "import json\njson.loads('{')\n",
    "missing import": "import no_such_package_at_all\n",
    "missing name": "from json import no_such_name\n",
    "failing import": "import failing\n",
    "recursion": "def f():\n    f()\nf()\n",
    "with a note": "e = ValueError('x')\ne.add_note('a note')\nraise e\n",
    "own hook": """
import sys
def hook(kind, error, traceback):
    print("hook", kind.__name__, error, len(sys.argv))
sys.excepthook = hook
raise ValueError("x")
""",
    "base exception": "class Stop(BaseException):\n    pass\nraise Stop('now')\n",
}


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize("as_module", [False, True])
def test_exceptions(tmp_path, name, as_module):
    write(tmp_path, "raising.py", RAISING[name])
    write(tmp_path, "failing.py", "def g():\n    raise OSError('in the import')\ng()\n")
    arguments = ["-m", "raising"] if as_module else ["raising.py"]
    assert assert_like_python(arguments, tmp_path)[0] == 1


def test_exception_in_a_package_on_the_way_to_the_module(tmp_path):
    write(tmp_path, "pack/__init__.py", "import no_such_package_at_all")
    write(tmp_path, "pack/mod.py", "")
    code, _, err = execute([RUNNER, "-m", "pack.mod"], tmp_path)
    assert code == 1
    assert err.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{tmp_path}/pack/__init__.py", line 1, in <module>',
        "    import no_such_package_at_all",
        "ModuleNotFoundError: No module named 'no_such_package_at_all'",
    ]


@pytest.mark.skipif(os.name != "posix", reason="signals end processes on POSIX only")
def test_interrupt_ends_the_process_by_the_signal_after_its_exit_functions(tmp_path):
    write(
        tmp_path,
        "loop.py",
        "import atexit, os, signal, time\n"
        "atexit.register(print, 'exit function')\n"
        # A parent may have had the signal ignored (a shell's background job does).
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('running')\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(30)\n",
    )
    code, out, err = assert_like_python(["loop.py"], tmp_path)
    assert code == -signal.SIGINT
    assert out == "running\nexit function\n"
    assert err.endswith("KeyboardInterrupt")


def test_classes_of_the_script_can_be_pickled(tmp_path):
    write(
        tmp_path,
        "own.py",
        "import pickle\nclass A:\n    pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)\n",
    )
    assert assert_like_python(["own.py"], tmp_path)[:2] == (0, "True\n")
