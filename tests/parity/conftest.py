"""Makes the tables and the harness beside these tests importable, in pytest's importlib mode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_terminal_summary(terminalreporter):
    """Say how many deviations from PyTorch's tables are listed."""
    listed = sys.modules.get("op_db.deviations")
    if listed is not None:
        count = sum(len(lines) for lines in listed.DEVIATIONS.values())
        terminalreporter.write_line(f"op_db: {count} listed deviations from PyTorch")
