"""The command itself, with everything below it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike
from torchlike import cli
from torchlike._runtime import environment_variables
from torchlike.porting import compare, demo, launcher
from torchlike.porting.divergence import command as divergence
from torchlike.porting.doctor import command as doctor
from torchlike.porting.report import duration
from torchlike.porting.shim import command as shim
from torchlike.porting.version import own_version

ROOT = str(Path(torchlike.__file__).parent.parent)


def torchlike_command(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-m", "torchlike", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT, **environment},
    )


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


# --- arguments


@pytest.fixture
def calls(monkeypatch):
    made = []
    for module, name in (
        (launcher, "run"), (compare, "compare"), (demo, "demo"), (shim, "run"), (doctor, "run"),
        (divergence, "run"),
    ):  # fmt: skip
        said = "run" if module is launcher else module.__name__.split(".")[2]
        monkeypatch.setattr(module, name, lambda *a, _name=said, **k: made.append((_name, a, k)))
    return made


@pytest.mark.parametrize(
    ("arguments", "script", "as_module"),
    [
        (["train.py"], ["train.py"], False),
        (["train.py", "--lr", "3", "-m", "x"], ["train.py", "--lr", "3", "-m", "x"], False),
        (["train.py", "--version"], ["train.py", "--version"], False),
        (["train.py", "-h"], ["train.py", "-h"], False),
        (["train.py", "a", "--", "-b"], ["train.py", "a", "--", "-b"], False),
        (["-m", "pack.train", "--lr", "3"], ["pack.train", "--lr", "3"], True),
        (["-m", "pack.train", "-m"], ["pack.train", "-m"], True),
    ],
)
def test_arguments_of_the_script_reach_it(calls, arguments, script, as_module):
    assert cli.main(["run", *arguments]) == 0
    assert calls == [
        ("run", (script,), {"as_module": as_module, "threads": None, "device_map": None})
    ]


def test_options_of_run_stand_before_the_script(calls):
    cli.main(["run", "--threads", "3", "train.py", "--threads", "4"])
    assert calls == [
        (
            "run",
            (["train.py", "--threads", "4"],),
            {"as_module": False, "threads": 3, "device_map": None},
        )
    ]


def test_arguments_of_compare(calls):
    cli.main(["compare", "--torch", "--output", "out", "train.py", "--torch", "--output", "x"])
    name, (script,), options = calls[0]
    assert (name, script) == ("compare", ["train.py", "--torch", "--output", "x"])
    assert options == {
        "as_module": False, "with_torch": True, "output": Path("out"), "html_path": None,
    }  # fmt: skip


def test_arguments_of_find_divergence(calls):
    cli.main(
        ["compare", "--torch", "--find-divergence", "--steps", "3", "train.py", "--steps", "4"]
    )
    assert calls == [
        (
            "divergence",
            (["train.py", "--steps", "4"],),
            {
                "as_module": False, "with_torch": True, "tolerance": 1e-4, "steps": 3,
                "json_path": None,
            },
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["install"], {"names": (), "anywhere": False}),
        (["install", "--anywhere"], {"names": (), "anywhere": True}),
        (["install", "--with", "torchaudio"], {"names": ["torchaudio"], "anywhere": False}),
        (["status"], {"names": (), "anywhere": False}),
        (["remove"], {"names": (), "anywhere": False}),
    ],
)
def test_arguments_of_shim(calls, arguments, options):
    cli.main(["shim", *arguments])
    assert calls == [("shim", (arguments[0],), options)]


def test_arguments_of_doctor(calls):
    cli.main(["doctor"])
    cli.main(["doctor", "--json"])
    assert calls == [("doctor", (), {"as_json": False}), ("doctor", (), {"as_json": True})]


def test_arguments_of_demo(calls):
    cli.main(["demo"])
    assert calls == [("demo", (), {"with_torch": False, "output": Path()})]


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["run"], ["walk"], ["compare"], ["demo", "x"], ["shim"], ["shim", "walk"],
        ["shim", "install", "--with", "torchtext"], ["run", "--threads", "0", "x.py"],
        ["compare", "--steps", "0", "x.py"], ["compare", "--tolerance", "-1", "x.py"],
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    assert "usage: torchlike" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["train.py"], "torchlike run train.py"),
        (["train.py", "--lr", "3"], "torchlike run train.py --lr 3"),
        (["missing/train.py"], "torchlike run missing/train.py"),
        ([str(Path(__file__).parent)], f"torchlike run {Path(__file__).parent}"),
        (["-m", "package.train"], "torchlike run -m package.train"),
        (["comapre", "train.py"], "torchlike compare train.py"),
        (["rum"], "torchlike run"),
    ],
)
def test_what_was_meant_is_said(arguments, meant, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    error = capsys.readouterr().err
    assert error.endswith(f"{arguments[0]!r} is no command. Did you mean: {meant}\n")


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_missing_script_is_all_that_is_missing(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([command])
    assert capsys.readouterr().err.endswith("the following arguments are required: SCRIPT\n")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["compare", "--help"]])
def test_help_names_the_environment_variables(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 0
    output = capsys.readouterr().out
    for variable in environment_variables.ALL:
        assert f"{variable.name}=" in output
    assert "TORCHLIKE_LOGS=recompiles|first_calls|kernels\n" in output
    assert max(map(len, output.splitlines())) <= 100


@pytest.mark.parametrize("name", ["TORCHLIKE_LOGS", "TORCHLIKE_COMPILE", "TORCHLIKE_TRACEBACK"])
def test_an_environment_variable_that_says_what_it_may_not_is_refused(monkeypatch, name, capsys):
    monkeypatch.setenv(name, "no")
    with pytest.raises(SystemExit) as raised:
        cli.main(["run", "train.py"])
    assert raised.value.code == 2
    assert capsys.readouterr().err.startswith(f"torchlike: {name} is 'no'; it must be ")


#: As the console script does, telling what has been imported.
SCRIPT = """
import atexit, sys
atexit.register(lambda: print([m for m in ("jax", "numpy", "rich", "torch") if m in sys.modules]))
from torchlike_command import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["run", "--help"], 0), (["--version"], 0), (["walk"], 2), (["run"], 2)],
)
def test_what_needs_no_jax_imports_none(tmp_path, arguments, code):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert result.returncode == code
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_console_script_runs_a_script(tmp_path):
    write(tmp_path, "script.py", "import sys, torch; print(torch.ones(2).sum(), sys.argv)")
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, "run", "script.py", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert result.stdout.splitlines()[0] == "tensor(2.) ['script.py', '--help']"
    assert (result.returncode, result.stderr) == (0, "")


def test_version(capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(["--version"])
    assert raised.value.code == 0
    assert capsys.readouterr().out == f"torchlike {own_version()}\n"


# --- run

ALIASES = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
import torchlike

print(torch is torchlike, nn is torchlike.nn, F is torchlike.nn.functional, Tensor is torch.Tensor)
print(F.relu(torch.tensor([-1.0, 2.0])))
for name, module in sys.modules.items():
    file = getattr(module, "__file__", None) or ""
    if name.split(".")[0] == "torch" and "torchlike" not in file:
        print("not torchlike:", name, file)
print("matplotlib" in sys.modules, sys.argv[1:], torch.get_num_threads())
"""


def test_torch_is_torchlike(tmp_path):
    write(tmp_path, "script.py", ALIASES)
    words = ("run", "--threads", "3", "script.py", "--lr", "3")
    result = torchlike_command(*words, cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "True True True True",
        "tensor([0., 2.])",
        "False ['--lr', '3'] 3",
    ]


def test_real_pytorch_is_not_even_looked_for(tmp_path):
    (tmp_path / "torch").mkdir()
    write(tmp_path / "torch", "__init__.py", "raise SystemExit('the real one')")
    write(tmp_path, "script.py", "import torch; print(torch.__version__)")
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    assert result.stdout == "2.13.0+torchlike\n"


ERRORS = {
    "import torch.fx.tensor_type": (
        "ModuleNotFoundError: torchlike has no torch.fx.tensor_type yet; "
        "jax.make_jaxpr shows the graph of a function of arrays"
    ),
    "from torch.nn import NoSuchLayer": "ImportError: torchlike has no torch.nn.NoSuchLayer yet; ",
    "import torch; torch.nn.NoSuchLayer": (
        "AttributeError: torchlike has no torch.nn.NoSuchLayer yet; "
    ),
    "import torch; torch.ones(2, 3) @ torch.ones(2, 3)": "RuntimeError: ",
    "import torch; torch.ones(3).view(2)": "RuntimeError: ",
    "import torch; torch.ones(3).backward()": "RuntimeError: element 0 of tensors does not require",
}


@pytest.mark.parametrize("source", ERRORS)
def test_errors_show_the_scripts_frames_only(tmp_path, source):
    script = write(tmp_path, "script.py", source)
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    first, second, third, *_, last = result.stderr.splitlines()
    assert result.returncode == 1
    assert first == "Traceback (most recent call last):"
    assert second == f'  File "{script}", line 1, in <module>'
    assert third == f"    {source}"
    assert last.startswith(ERRORS[source])
    assert result.stderr.count("  File ") == 1


def test_missing_tensor_method_is_explained(tmp_path):
    write(tmp_path, "script.py", "import torch; torch.ones(3).no_such_method()")
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    *_, error, note = result.stderr.splitlines()
    assert error.startswith("AttributeError: 'Tensor' object has no attribute 'no_such_method'")
    assert note.startswith("torchlike has no torch.Tensor.no_such_method yet; ")


def test_a_users_module_between_our_frames_is_shown(tmp_path):
    write(
        tmp_path,
        "script.py",
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x @ x\n"
        "torch.nn.Sequential(Net())(torch.ones(2, 3))\n",
    )
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    files = [line for line in result.stderr.splitlines() if line.startswith("  File ")]
    assert [line.partition(", ")[2] for line in files] == [
        "line 5, in <module>",
        "line 4, in forward",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["nope.py"], 2, "torchlike: can't open file "),
        (["-m", "nope"], 1, "torchlike: No module named nope\n"),
        (["bad.py"], 1, "  File "),
        (["seven.py"], 7, ""),
    ],
)
def test_exit_codes(tmp_path, arguments, code, error):
    write(tmp_path, "bad.py", "def f(:\n")
    write(tmp_path, "seven.py", "raise SystemExit(7)")
    result = torchlike_command("run", *arguments, cwd=tmp_path)
    assert result.returncode == code
    assert result.stderr.startswith(error)
    assert "Traceback" not in result.stderr


def test_unknown_compile_mode_is_refused(tmp_path):
    write(tmp_path, "script.py", "")
    result = torchlike_command("run", "script.py", cwd=tmp_path, TORCHLIKE_COMPILE="all")
    assert result.returncode == 2
    assert result.stderr == (
        "torchlike: TORCHLIKE_COMPILE is 'all'; it must be one of off, regions, modules\n"
    )


# --- compare

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(6):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
print(f"final loss {loss.item():.3f}")
"""

REGION = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
runs = 0

@torch.compile
def train_step(x, y):
    global runs
    if not torch.compiler.is_compiling():
        runs += 1
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    return loss

x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(6):
    loss = train_step(x, y)
print(f"the body ran {runs} times eagerly")
"""

NEEDS_VALUE = TRAIN.replace(
    "optimizer = ",
    """class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = model
    def forward(self, x):
        return self.inner(x) if x.sum().item() > -1e9 else x
model = Net()
optimizer = """,
    1,
)


def compare_runs(tmp_path, source, *labels):
    write(tmp_path, "train.py", source)
    result = torchlike_command(
        "compare", "--output", "out", "--html", "page.html", "train.py", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    page = (tmp_path / "page.html").read_text("utf-8")
    runs = json.loads((tmp_path / "out" / "compare-train.json").read_text())["runs"]
    assert [run["label"] for run in runs] == ["eager", *labels]
    for run in runs:
        assert len(run["losses"]) == 6
        assert len(run["steps"]) == 5
        assert run["losses_agree"]["all"] <= 1e-5
        row = page[page.index(f"</i>{run['label']}</td>") :].partition("</tr>")[0]
        assert f"<td>{duration(run['first_step'])}</td>" in row
    assert page.count("<svg") == 2
    assert runs[0]["losses"][-1] < runs[0]["losses"][0]
    return result.stdout, *runs


def test_compare_prints_a_table_and_writes_numbers_and_plot(tmp_path):
    pytest.importorskip("matplotlib")
    output, eager, compiled = compare_runs(tmp_path, TRAIN, "modules compiled")
    assert output.count("final loss ") == 4  # each run's own line, and again below the table
    assert eager["last_line"] == compiled["last_line"]
    assert compiled["left_eager"] == {}
    for heading in ("first step", "steady step", "ratio", "losses agree to", "(relative)"):
        assert heading in output
    assert "modules compiled: forward and backward of Sequential; the rest of a step" in output
    assert "No function here is one step: forward, backward and one optimizer.step()." in output
    assert (tmp_path / "out" / "compare-train.png").read_bytes().startswith(b"\x89PNG")


def test_compare_of_a_script_that_compiles_its_own_step(tmp_path):
    output, eager, compiled = compare_runs(tmp_path, REGION, "whole step compiled")
    assert eager["last_line"] == "the body ran 6 times eagerly"
    assert compiled["last_line"] == "the body ran 0 times eagerly"
    assert "whole step compiled: train_step: forward, backward and update are one" in output
    assert "No function here" not in output


@pytest.mark.parametrize("how", ["model = torch.compile(model)", "model.compile()"])
def test_compare_of_a_script_that_compiles_its_model(tmp_path, how):
    source = TRAIN.replace("optimizer = ", f"{how}\noptimizer = ")
    output, eager, compiled = compare_runs(tmp_path, source, "compiled as marked")
    assert eager["marked"] == compiled["marked"] == ["Sequential"]
    assert "compiled as marked: what the script marks, Sequential." in output


def test_compare_compiles_the_function_that_is_a_whole_step(tmp_path):
    source = REGION.replace("@torch.compile\n", "")
    output, eager, _, whole = compare_runs(
        tmp_path, source, "modules compiled", "whole step compiled"
    )
    assert eager["last_line"] == "the body ran 6 times eagerly"
    assert whole["last_line"] == "the body ran 0 times eagerly"
    assert whole["whole_steps"] == ["train_step"]
    assert "train_step (train.py, line 8) was compiled for this comparison" in output


def test_compare_of_a_step_that_returns_no_loss(tmp_path):
    source = REGION.replace("@torch.compile\n", "").replace("return loss", "return loss * 0 + 7")
    compare_runs(tmp_path, source, "modules compiled", "whole step compiled")


def test_compare_says_why_a_step_cannot_be_compiled(tmp_path):
    source = REGION.replace("@torch.compile\n", "").replace("return loss", "return loss.item()")
    output, *_ = compare_runs(tmp_path, source, "modules compiled")
    where = "train_step (train.py, line 8)"
    assert f"{where} is a whole step, but cannot be compiled: .item() needs a value" in output
    assert "(train.py:16)" in output


def test_compare_of_a_step_in_another_file_says_where_it_is(tmp_path):
    write(
        tmp_path,
        "steps.py",
        "def step(model, optimizer, x, y):\n"
        "    optimizer.zero_grad()\n"
        "    loss = (model(x) - y).square().mean()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n",
    )
    head, _, tail = TRAIN.partition("    optimizer.zero_grad()")
    tail = tail.partition("optimizer.step()\n")[2].replace("{loss.item():.3f}", "")
    source = f"from steps import step\n{head}    step(model, optimizer, x, y)\n{tail}"
    output, *_ = compare_runs(tmp_path, source, "modules compiled")
    assert "step (steps.py, line 1) is a whole step: @torch.compile on it makes it one" in output


SCALED = TRAIN.replace("loss.backward()", "scaler.scale(loss).backward()").replace(
    "    optimizer.step()", "    scaler.step(optimizer); scaler.update()"
).replace("optimizer = ", "scaler = torch.amp.GradScaler('cpu')\noptimizer = ", 1)  # fmt: skip


def test_compare_shows_losses_as_they_were_before_scaling(tmp_path):
    _, eager, compiled = compare_runs(tmp_path, SCALED, "modules compiled")
    for run in (eager, compiled):
        assert f"final loss {run['losses'][-1]:.3f}" == run["last_line"]


LOADED = TRAIN.replace("for _ in range(6):", "for x, y in loader:").replace(
    "for x, y in",
    """from torch.utils.data import DataLoader, TensorDataset
class Slow(TensorDataset):
    def __getitem__(self, i):
        time.sleep(0.1)
        return super().__getitem__(i)
loader = DataLoader(Slow(x, y), batch_size=3)
for x, y in""",
    1,
).replace("import torch", "import time, torch", 1)  # fmt: skip


def test_compare_does_not_count_the_loading_of_data(tmp_path):
    output, *runs = compare_runs(tmp_path, LOADED, "modules compiled")
    for run in runs:
        assert run["loaded"] >= 16 * 0.1
        # Each batch but the last takes 0.3 s to load: the sum of the steps is less than that of all
        # that the script did, by that much at least.
        assert run["first_step"] + sum(run["steps"]) <= run["seconds"] - run["loaded"]
    assert "the steps' times leave that out" in output


def test_compare_of_nothing_fails_and_says_so(tmp_path):
    write(tmp_path, "train.py", "import torch\nif __name__ == 'main':\n    torch.ones(2)")
    result = torchlike_command("compare", "train.py", cwd=tmp_path)
    assert result.returncode == 1
    assert "Nothing was timed: no run called optimizer.step() or backward()." in result.stdout
    assert not list(tmp_path.glob("compare-*"))


def test_compare_says_where_its_options_stand(tmp_path):
    write(tmp_path, "train.py", "import sys; sys.exit(4)")
    result = torchlike_command("compare", "train.py", "--output=out", cwd=tmp_path)
    assert result.returncode == 4
    assert "--output was given to the script: options of compare stand before" in result.stdout


def test_compare_names_what_it_left_eager(tmp_path):
    output, _, compiled = compare_runs(tmp_path, NEEDS_VALUE, "modules compiled")
    assert list(compiled["left_eager"]) == ["Net"]
    assert "modules compiled: Net was left eager. " in output


def test_compare_ends_with_the_scripts_exit_code(tmp_path):
    write(tmp_path, "train.py", "import sys; print('so far'); sys.exit(5)")
    result = torchlike_command("compare", "train.py", cwd=tmp_path)
    assert result.returncode == 5
    assert "eager: the script ended with exit code 5" in result.stdout
    assert not list(tmp_path.glob("compare-*"))


#: It says that it has begun once it sleeps.
INTERRUPTED = """
import sys, threading, time
import torch
threading.Timer(0.3, lambda: print("begun", flush=True)).start()
try:
    time.sleep(60)
finally:
    print("saved", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="an interruption of a group of processes")
def test_an_interruption_shows_the_scripts_frames_only(tmp_path):
    script = write(tmp_path, "train.py", INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, "-m", "torchlike", "compare", "train.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    for line in process.stdout:
        if line == "begun\n":
            break
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "saved" in output  # the script ends as it likes
    files = [line for line in errors.splitlines() if line.startswith("  File ")]
    assert files == [f'  File "{script}", line 6, in <module>']
    assert errors.splitlines()[-1] == "torchlike: interrupted"


@pytest.mark.skipif(os.name != "posix", reason="an interruption by a signal")
@pytest.mark.parametrize("begun", [True, False])
def test_who_ends_an_interrupted_process(begun, capfd):
    """The process itself, once its script has begun; before that it does not hear of it."""
    end = "signal.signal(signal.SIGINT, lambda *_: sys.exit(5)); " if begun else ""
    code = f"import signal, sys, time; {end}print('up', flush=True); time.sleep(60)"

    def interrupt():
        command = [sys.executable, "-c", code]
        with compare.interruptible(command, {**os.environ}, lambda: begun) as process:
            processes.append(process)
            assert process.stdout.readline() == "up\n"
            process.send_signal(signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    processes = []
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert processes[0].returncode == (5 if begun else -signal.SIGKILL)
    assert capfd.readouterr().err == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name != "posix", reason="an interruption by a signal")
def test_a_second_interruption_ends_a_script_that_does_not(capfd):
    code = "import time; print('up', flush=True); time.sleep(60)"

    def interrupt():
        command = [sys.executable, "-c", code]
        with compare.interruptible(command, {**os.environ}, lambda: True) as process:
            assert process.stdout.readline() == "up\n"
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupt()


# --- demo


def test_demo(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    result = torchlike_command("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    runs = json.loads((tmp_path / "compare-digits.json").read_text())["runs"]
    assert runs[1]["losses_agree"]["all"] <= 1e-4
    assert runs[1]["left_eager"] == {}
    for run in runs:
        assert len(run["losses"]) == len(run["steps"]) + 1
        assert float(run["last_line"].split()[-1].rstrip("%")) >= 97
    assert (tmp_path / "compare-digits.png").is_file()
    assert result.stdout.rstrip().endswith("compare-digits.png")
    lines = result.stdout.splitlines()
    assert len(lines) <= 50
    assert sum(line.startswith("epoch ") for line in lines) == 16
    assert not any(line.startswith("step ") for line in lines)


def test_demo_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(demo, "_NEEDS", ("json", "no_such_package_at_all"))
    assert demo.demo() == 1
    assert capsys.readouterr().err == (
        "torchlike demo needs no_such_package_at_all: pip install 'torchlike[demo]'\n"
    )


def test_demo_without_its_script_says_where_it_looked(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "_PLACES", (tmp_path / "a.py", tmp_path / "b.py"))
    with pytest.raises(FileNotFoundError, match=r"a\.py, .*b\.py"):
        demo.script()


def test_scan_says_by_its_exit_code_what_it_found(tmp_path):
    write(tmp_path, "fine.py", "import torch\ntorch.ones(2)\n")
    write(tmp_path, "bad.py", "from torch import quantize_per_tensor\n")
    done = torchlike_command("scan", "bad.py", "fine.py", "--json", "s.json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "bad.py:1" in done.stdout
    assert json.loads((tmp_path / "s.json").read_text())["counts"]["missing"] == 1
    assert torchlike_command("scan", "absent", cwd=tmp_path).returncode == 2
