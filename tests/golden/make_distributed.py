"""Writes what PyTorch's ranks give for the cases of tests/distributed: `python -m
tests.golden.make_distributed [FILE ...]` (needs PyTorch)."""

import json
import sys
import tempfile
from pathlib import Path

from tests.distributed.launching import results

FILES = (
    "captured_cases.py",
    "captured_group_cases.py",
    "compiled_sharded_cases.py",
    "compiled_two_dimensional_cases.py",
    "context_parallel_cases.py",
    "collective_cases.py",
    "everyday_cases.py",
    "everyday_group_cases.py",
    "pipelining_cases.py",
    "sharded_cases.py",
    "state_dict_cases.py",
    "terms_cases.py",
    "terms_of_two_cases.py",
    "training_cases.py",
    "two_dimensional_cases.py",
    "uneven_cases.py",
)
#: How many ranks run a file, where not two.
RANKS = {
    "captured_group_cases.py": 4,
    "compiled_two_dimensional_cases.py": 4,
    "everyday_group_cases.py": 4,
    "terms_of_two_cases.py": 4,
    "two_dimensional_cases.py": 4,
}


def main():
    path = Path(__file__).parent / "distributed.json"
    files = [f for f in FILES if not sys.argv[1:] or f in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        found = {
            file: results(file, Path(folder), RANKS.get(file, 2), torchrun=True) for file in files
        }
    if len(files) < len(FILES):
        found = json.loads(path.read_text()) | found
    text = json.dumps(found, separators=(",", ":")).replace('"case_', '\n"case_')
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
