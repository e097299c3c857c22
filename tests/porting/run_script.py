"""Runs `torchlike.porting.script` by itself: ``python run_script.py [-m] SCRIPT ...``.

Without ``torchlike/__init__.py``, hence without JAX, a process starts in a tenth of the time.
"""

import importlib
import importlib.util
import sys
from types import ModuleType

spec = importlib.util.find_spec("torchlike")
assert spec is not None
package = ModuleType("torchlike")
package.__path__ = list(spec.submodule_search_locations or [])
sys.modules["torchlike"] = package

if __name__ == "__main__":
    arguments = sys.argv[1:]
    as_module = arguments[:1] == ["-m"]
    script = importlib.import_module("torchlike.porting.script")
    script.run(arguments[1:] if as_module else arguments, as_module=as_module)
