"""The benchmarks are a folder of the repository, not part of the package that is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
