"""mypy sees the types that pyright sees."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def checked(file: Path, tmp_path: Path) -> str:
    command = ["-m", "mypy", "--follow-imports=silent", f"--cache-dir={tmp_path}", str(file)]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=HERE.parents[1]
    )
    return done.stdout + done.stderr


@pytest.mark.exhaustive
def test_uses(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    assert checked(HERE / "uses.py", tmp_path).startswith("Success")
    wrong = tmp_path / "wrong.py"
    wrong.write_text((HERE / "uses.py").read_text().replace("float = 2.0", "str = 2.0"), "utf-8")
    assert "[assignment]" in checked(wrong, tmp_path)
