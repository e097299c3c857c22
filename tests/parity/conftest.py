"""Makes the tables and the harness beside these tests importable (pytest's importlib mode does not)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
