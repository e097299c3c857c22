"""Makes the tables and the harness beside these tests importable, in pytest's importlib mode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
