"""Writes what PyTorch's ranks give for the cases of tests/distributed: `python -m
tests.golden.make_distributed` (needs PyTorch)."""

import json
import tempfile
from pathlib import Path

from tests.distributed.launching import results

FILES = (
    "captured_cases.py",
    "collective_cases.py",
    "pipelining_cases.py",
    "sharded_cases.py",
    "training_cases.py",
)


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = {file: results(file, Path(folder), torchrun=True) for file in FILES}
    path = Path(__file__).parent / "distributed.json"
    text = json.dumps(found, separators=(",", ":")).replace('"case_', '\n"case_')
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
