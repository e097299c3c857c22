"""The command ``torchlike`` as a process of its own, and files for it."""

import os
import subprocess
import sys
from pathlib import Path

import torchlike

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
