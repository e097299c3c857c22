"""The command's arguments: who gets them, what is refused, and what is imported for them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.porting.commands import ROOT, torchlike_command, write
from torchlike._runtime import environment_variables
from torchlike.porting import cli, compare, demo, help_texts, launcher
from torchlike.porting.bench import command as bench
from torchlike.porting.divergence import command as divergence
from torchlike.porting.doctor import command as doctor
from torchlike.porting.plan import chips
from torchlike.porting.shim import command as shim
from torchlike.porting.version import own_version


@pytest.fixture
def calls(monkeypatch):
    made = []
    for module, name in (
        (launcher, "run"),
        (compare, "compare"),
        (demo, "demo"),
        (shim, "run"),
        (doctor, "run"),
        (divergence, "run"),
        (bench, "run"),
    ):
        said = "run" if module is launcher else module.__name__.split(".")[2]
        monkeypatch.setattr(module, name, lambda *a, _name=said, **k: made.append((_name, a, k)))
    return made


#: What the launcher is given where nothing is said.
_UNSAID = {"as_module": False, "threads": None, "device_map": None, "card": None}


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
    assert calls == [("run", (script,), {**_UNSAID, "as_module": as_module})]


def test_a_card_is_named_for_the_script(calls):
    cli.main(["run", "--device-map", "cuda=cpu", "--card", "T4", "train.py"])
    said = {"device_map": {"cuda": "cpu"}, "card": "T4"}
    assert calls == [("run", (["train.py"],), {**_UNSAID, **said})]


def test_options_of_run_stand_before_the_script(calls):
    cli.main(["run", "--threads", "3", "train.py", "--threads", "4"])
    assert calls == [
        (
            "run",
            (["train.py", "--threads", "4"],),
            {**_UNSAID, "threads": 3},
        )
    ]


def test_arguments_of_compare(calls):
    cli.main(["compare", "--torch", "--output", "out", "train.py", "--torch", "--output", "x"])
    name, (script, options), _ = calls[0]
    assert (name, script) == ("compare", ["train.py", "--torch", "--output", "x"])
    assert options == compare.CompareOptions(with_torch=True, output=Path("out"))


def test_another_environments_pytorch_is_named_by_its_python(calls):
    cli.main(["compare", "--torch-python", "other/bin/python", "--rounds", "3", "train.py"])
    cli.main(["bench", "train.py", "--torch-python", "other/bin/python"])
    cli.main(["compare", "--find-divergence", "--torch-python", "p", "train.py"])
    expected = compare.CompareOptions(
        with_torch=True, torch_python="other/bin/python", rounds=3, output=Path()
    )
    assert [options for _, (_, options), _ in calls[:2]] == [expected, expected]
    assert calls[2][2]["torch_python"] == "p"


def test_arguments_of_bench(calls):
    words = ["--shape", "x=2,n", "--shape", "y=3", "--jax", "lambda x: x", "--sweep", "n=2..8"]
    cli.main(["bench", "lambda x: x", *words, "--no-gradients", "--peak", "h100"])
    (name, (options,), _) = calls[0]
    assert name == "bench"
    assert options == bench.BenchOptions(
        "lambda x: x",
        shapes=["x=2,n", "y=3"],
        jax="lambda x: x",
        sweep="n=2..8",
        gradients=False,
        peak=chips.CHIPS["h100"].peak,
    )


def test_arguments_of_find_divergence(calls):
    cli.main(
        ["compare", "--torch", "--find-divergence", "--steps", "3", "train.py", "--steps", "4"]
    )
    assert calls == [
        (
            "divergence",
            (["train.py", "--steps", "4"],),
            {
                "as_module": False,
                "with_torch": True,
                "torch_python": None,
                "tolerance": 1e-4,
                "steps": 3,
                "json_path": None,
            },
        )
    ]


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
        [],
        ["run"],
        ["walk"],
        ["compare"],
        ["demo", "x"],
        ["shim"],
        ["shim", "walk"],
        ["shim", "install", "--with", "torchtext"],
        ["run", "--threads", "0", "x.py"],
        ["compare", "--steps", "0", "x.py"],
        ["compare", "--tolerance", "-1", "x.py"],
    ],
)
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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["run", "--thread=3", "x.py"], "--threads=3"),
        (["scan", "--failon", "never", "x.py"], "--fail-on"),
        (["compare", "--find-divergance", "x.py"], "--find-divergence"),
    ],
)
def test_an_option_like_another_is_asked_about(arguments, meant, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    assert capsys.readouterr().err.endswith(f"Did you mean: {meant}\n")


@pytest.mark.parametrize("name", [n for n in help_texts.COMMANDS if n != "launch"])
def test_help_of_a_subcommand_says_what_it_is_for_with_examples(name, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(["help", name])
    assert raised.value.code == 0
    output = capsys.readouterr().out
    text, examples = help_texts.COMMANDS[name]
    assert text.splitlines()[0] in output
    lines = examples.splitlines()
    assert len(lines) == 2
    assert all(line in output and line.startswith(f"torchlike {name}") for line in lines)
    assert "TORCHLIKE_LOGS" not in output
    for line in lines:  # they are what the command takes
        assert cli.parse(shlex.split(line.partition(" > ")[0])[1:]).command == name


def test_every_subcommand_has_its_text():
    assert set(help_texts.COMMANDS) == set(cli._EXECUTED_BY)


def test_help_names_the_environment_variables(capsys):
    assert cli.main(["help", "env"]) == 0
    output = capsys.readouterr().out
    for variable in environment_variables.ALL:
        assert f"{variable.name}=" in output
    assert "TORCHLIKE_LOGS=recompiles|first_calls|kernels|rolled|checks\n" in output
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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
def test_scan_says_by_its_exit_code_what_it_found(tmp_path):
    write(tmp_path, "fine.py", "import torch\ntorch.ones(2)\n")
    write(tmp_path, "bad.py", "from torch import quantize_per_tensor\n")
    done = torchlike_command("scan", "bad.py", "fine.py", "--json", "s.json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "bad.py:1" in done.stdout
    assert json.loads((tmp_path / "s.json").read_text())["counts"]["missing"] == 1
    assert torchlike_command("scan", "absent", cwd=tmp_path).returncode == 2
