"""Makes ``import torch`` mean torchlike in a Python that one of torchlike's programs has started.

Python runs a module of this name when it starts, from a folder that ``PYTHONPATH`` names;
``torchlike.porting.children`` has put this one there. Any Python may come by: another version,
another environment. So the code here is plain and short, does nothing outside of the environment
that the variable ``TORCHLIKE_CHILDREN`` names, and imports nothing until ``torch`` is asked for. It
then runs the ``sitecustomize`` that would have been run without it.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def this_environment():
    """Return a text for the environment that this Python runs in: its version and its folder."""
    return ".".join(map(str, sys.version_info[:2])) + ":" + sys.prefix


class TorchOnDemand:
    """Answers for ``torch`` until it is imported; then gives way to the alias."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> object:
        return _on_demand().spec(self) if fullname == "torch" else None

    def find_distributions(self, context: object = None) -> object:
        return _on_demand().distributions(context)


def _on_demand():
    from importlib import util  # noqa: PLC0415 - which takes longer than all the rest

    spec = util.spec_from_file_location("on_demand", os.path.join(_HERE, "on_demand.py"))
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run_the_next():
    """Run the ``sitecustomize`` that this one stands before, if there is one."""
    sys.path[:] = [folder for folder in sys.path if folder != _HERE]
    this = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


if __name__ == "sitecustomize":
    if os.environ.get("TORCHLIKE_CHILDREN") == this_environment():
        sys.meta_path.insert(0, TorchOnDemand())  # type: ignore[arg-type]
    _run_the_next()
