"""Damaged files of five formats, read by processes of their own: none does any harm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serialization import mutant_table

ROOT = Path(__file__).parents[2]
HARMS = {"raw error", "over 1 GB", "crash", "hang", "executed"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.full)])
def test_damaged_files_do_no_harm(count):
    done = subprocess.run(
        [sys.executable, mutant_table.__file__, "torchlike", str(count)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (_, *kinds), *lines = [line.split(" | ") for line in done.stdout.splitlines()]
    assert len(lines) == 5
    for name, *numbers in lines:
        found = dict(zip(kinds, map(int, numbers), strict=True))
        assert sum(found.values()) == count
        assert {kind: n for kind, n in found.items() if kind in HARMS and n} == {}, name
        assert found["clear"] > count // 3, name


@pytest.mark.exhaustive
def test_the_table_sees_each_harm(tmp_path):
    """Run a reader that does harm, in a process like the others."""
    reader = tmp_path / "reader.py"
    reader.write_text(
        "import os, sys, time\n"
        "from tests.serialization import mutant_table as table\n"
        "def read(path):\n"
        "    with open(path, 'rb') as file: n = int(file.read())\n"
        "    if n == 1: raise RuntimeError('it is damaged')\n"
        "    if n == 2: raise KeyError('storage')\n"
        "    if n == 3: bytes(3 << 30)\n"
        "    if n == 4: os.abort()\n"
        "    if n == 5: time.sleep(60)\n"
        "    if n == 6: os.system('true')\n"
        "class Formats:\n"
        "    def __init__(self, library):\n"
        "        self.pairs = {'numbers': (lambda p: open(p, 'wb').close(), read)}\n"
        "table.Formats, table.SECONDS, table.__file__ = Formats, 2, __file__\n"
        "table.damaged = lambda whole, count: (str(i).encode() for i in range(count))\n"
        "if sys.argv[1] == '--child':\n"
        "    table.child(*sys.argv[2:5], *map(int, sys.argv[5:]))\n"
        "else:\n"
        "    table.main('a library', 7)\n"
    )
    done = subprocess.run(
        [sys.executable, str(reader), "start"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "numbers | 1 | 1 | 1 | 1 | 1 | 1 | 1"
