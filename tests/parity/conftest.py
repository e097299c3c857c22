"""What the summary of a run says of the parity tests."""

import sys


def pytest_terminal_summary(terminalreporter):
    """Say how many deviations from PyTorch's tables are listed."""
    listed = sys.modules.get("op_db.deviations")
    if listed is not None:
        count = sum(len(lines) for lines in listed.DEVIATIONS.values())
        terminalreporter.write_line(f"op_db: {count} listed deviations from PyTorch")
