"""``torchlike compare``, from the command line to tables, files and pictures."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests import interruptions
from tests.porting.commands import ROOT, torchlike_command, write
from torchlike.porting import compare
from torchlike.porting.report import duration

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
    assert [run["label"] for run in runs] == ["eager", "as it is, deferred", *labels]
    for run in runs:
        assert len(run["losses"]) == 6
        assert len(run["steps"]) == 5
        assert run["losses_agree"]["all"] <= 1e-5
        row = page[page.index(f"</i>{run['label']}</td>") :].partition("</tr>")[0]
        assert f"<td>{duration(run['first_step'])}</td>" in row
    assert page.count("<svg") == 2
    assert runs[0]["losses"][-1] < runs[0]["losses"][0]
    return result.stdout, runs[0], *runs[2:]


def test_compare_prints_a_table_and_writes_numbers_and_plot(tmp_path):
    pytest.importorskip("matplotlib")
    output, eager = compare_runs(tmp_path, TRAIN)
    assert output.count("final loss ") == 4  # each run's own line, and again below the table
    assert eager["marked"] == []
    for heading in ("first", "steady", "ratio", "whole", "losses agree to", "(relative)"):
        assert heading in output
    assert "No function here is one step: forward, backward and one optimizer.step()." in output
    assert (tmp_path / "out" / "compare-train.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.exhaustive
def test_compare_of_a_script_that_compiles_its_own_step(tmp_path):
    output, eager, compiled = compare_runs(tmp_path, REGION, "whole step compiled")
    assert eager["last_line"] == "the body ran 6 times eagerly"
    assert compiled["last_line"] == "the body ran 0 times eagerly"
    assert "whole step compiled: train_step: forward, backward and update are one" in output
    assert "No function here" not in output


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["model = torch.compile(model)", "model.compile()"])
def test_compare_of_a_script_that_compiles_its_model(tmp_path, how):
    source = TRAIN.replace("optimizer = ", f"{how}\noptimizer = ")
    output, eager, compiled = compare_runs(tmp_path, source, "compiled as marked")
    assert eager["marked"] == compiled["marked"] == ["Sequential"]
    assert "compiled as marked: what the script marks, Sequential." in output


@pytest.mark.exhaustive
def test_compare_compiles_the_function_that_is_a_whole_step(tmp_path):
    source = REGION.replace("@torch.compile\n", "")
    output, eager, whole = compare_runs(tmp_path, source, "whole step compiled")
    assert eager["last_line"] == "the body ran 6 times eagerly"
    assert whole["last_line"] == "the body ran 0 times eagerly"
    assert whole["whole_steps"] == ["train_step"]
    assert "train_step (train.py, line 8) was compiled for this comparison" in output


@pytest.mark.exhaustive
def test_compare_of_a_step_that_returns_no_loss(tmp_path):
    source = REGION.replace("@torch.compile\n", "").replace("return loss", "return loss * 0 + 7")
    compare_runs(tmp_path, source, "whole step compiled")


@pytest.mark.exhaustive
def test_compare_says_why_a_step_cannot_be_compiled(tmp_path):
    source = REGION.replace("@torch.compile\n", "").replace("return loss", "return loss.item()")
    output, *_ = compare_runs(tmp_path, source)
    where = "train_step (train.py, line 8)"
    assert f"{where} is a whole step, but cannot be compiled: .item() needs a value" in output
    assert "(train.py:16)" in output


@pytest.mark.exhaustive
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
    output, *_ = compare_runs(tmp_path, source)
    assert "step (steps.py, line 1) is a whole step: @torch.compile on it makes it one" in output


SCALED = (
    TRAIN.replace("loss.backward()", "scaler.scale(loss).backward()")
    .replace("    optimizer.step()", "    scaler.step(optimizer); scaler.update()")
    .replace("optimizer = ", "scaler = torch.amp.GradScaler('cpu')\noptimizer = ", 1)
)


@pytest.mark.exhaustive
def test_compare_shows_losses_as_they_were_before_scaling(tmp_path):
    _, eager = compare_runs(tmp_path, SCALED)
    assert f"final loss {eager['losses'][-1]:.3f}" == eager["last_line"]


LOADED = (
    TRAIN.replace("for _ in range(6):", "for x, y in loader:")
    .replace(
        "for x, y in",
        """from torch.utils.data import DataLoader, TensorDataset
class Slow(TensorDataset):
    def __getitem__(self, i):
        time.sleep(0.1)
        return super().__getitem__(i)
loader = DataLoader(Slow(x, y), batch_size=3)
for x, y in""",
        1,
    )
    .replace("import torch", "import time, torch", 1)
)


@pytest.mark.exhaustive
def test_compare_does_not_count_the_loading_of_data(tmp_path):
    output, *runs = compare_runs(tmp_path, LOADED)
    for run in runs:
        assert run["loaded"] >= 16 * 0.1
        # Each batch but the last takes 0.3 s to load: the sum of the steps is less than that of all
        # that the script did, by that much at least.
        assert run["first_step"] + sum(run["steps"]) <= run["seconds"] - run["loaded"]
    assert "the steps' times leave that out" in output


@pytest.mark.exhaustive
def test_compare_of_nothing_fails_and_says_so(tmp_path):
    write(tmp_path, "train.py", "import torch\nif __name__ == 'main':\n    torch.ones(2)")
    result = torchlike_command("compare", "train.py", cwd=tmp_path)
    assert result.returncode == 1
    assert "Nothing was timed: no run called optimizer.step() or backward()." in result.stdout
    assert not list(tmp_path.glob("compare-*"))


@pytest.mark.exhaustive
def test_compare_says_where_its_options_stand(tmp_path):
    write(tmp_path, "train.py", "import sys; sys.exit(4)")
    result = torchlike_command("compare", "train.py", "--output=out", cwd=tmp_path)
    assert result.returncode == 4
    assert "--output was given to the script: options of compare stand before" in result.stdout


@pytest.mark.exhaustive
def test_compare_names_what_it_left_eager(tmp_path):
    source = NEEDS_VALUE.replace("model = Net()", "model = torch.compile(Net())")
    output, _, compiled = compare_runs(tmp_path, source, "compiled as marked")
    assert list(compiled["fell_back"]) == ["Net"]
    assert "compiled as marked: Net was left eager. " in output


@pytest.mark.exhaustive
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


#: As that, where nobody hears of the signal: the script goes on.
GOES_ON = INTERRUPTED.replace("time.sleep(60)", "sys.stdin.read()")


def compared_until_it_waits(tmp_path, source):
    """A script, and `torchlike compare` of it, in a group of its own: the script waits now."""
    script = write(tmp_path, "train.py", source)
    process = subprocess.Popen(
        [sys.executable, "-m", "torchlike", "compare", "train.py"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    for line in process.stdout:
        if line == "begun\n":
            break
    return script, process


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="an interruption of a group of processes")
def test_where_the_signal_is_ignored_neither_compare_nor_the_script_hears_of_it(tmp_path):
    with interruptions.ignored():
        _, process = compared_until_it_waits(tmp_path, GOES_ON + "sys.exit(7)\n")
    os.killpg(process.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    output, errors = process.communicate("", timeout=60)
    assert (process.returncode, errors) == (7, "")
    assert "eager: the script ended with exit code 7" in output


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="an interruption of a group of processes")
def test_an_interruption_shows_the_scripts_frames_only(tmp_path):
    with interruptions.heard():
        script, process = compared_until_it_waits(tmp_path, INTERRUPTED)
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
    begins = "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT]); "  # as `recording.begin`
    end = f"signal.signal(signal.SIGINT, lambda *_: sys.exit(5)); {begins}" if begun else ""
    code = f"import signal, sys, time; {end}print('up', flush=True); time.sleep(60)"

    def interrupt():
        command = [sys.executable, "-c", code]
        with compare.interruptible(command, {**os.environ}, lambda: begun) as process:
            processes.append(process)
            assert process.stdout.readline() == "up\n"
            process.send_signal(signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    processes = []
    with interruptions.heard():
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert processes[0].returncode == (5 if begun else -signal.SIGKILL)
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="an interruption by a signal")
def test_a_second_interruption_ends_a_script_that_does_not(capfd):
    code = "import time; print('up', flush=True); time.sleep(60)"

    def interrupt():
        command = [sys.executable, "-c", code]
        with compare.interruptible(command, {**os.environ}, lambda: True) as process:
            assert process.stdout.readline() == "up\n"
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)

    with interruptions.heard(), pytest.raises(KeyboardInterrupt):
        interrupt()
