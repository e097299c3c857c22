"""``python -m torchlike.utils.bottleneck``: a script's functions and operations by their time."""

import subprocess
import sys


def run(tmp_path, body, *command):
    script = tmp_path / "script.py"
    script.write_text(f"import sys, torch\n{body}")
    command = [sys.executable, "-m", *command, str(script), "--flag"]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_report(tmp_path):
    body = "print(sys.argv[1], torch.ones(3).sum().item())"
    for command in (
        ("torchlike.utils.bottleneck",),
        ("torchlike", "run", "-m", "torch.utils.bottleneck"),
    ):
        ended = run(tmp_path, body, *command)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.count("--flag 3.0\n") == 2
        for said in ("torch_version: 2.13", "tottime", "Self CPU", "Environment"):
            assert said in ended.stdout


def test_a_script_that_fails_ends_it(tmp_path):
    ended = run(tmp_path, "raise ValueError('so')", "torchlike.utils.bottleneck")
    assert ended.returncode == 1
    assert "ValueError: so" in ended.stderr
    assert "tottime" not in ended.stdout
