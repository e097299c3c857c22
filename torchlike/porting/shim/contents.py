"""The files of the distribution ``torch`` that is torchlike."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from torchlike.version import __version__ as VERSION

#: Folders of an environment's packages that the shim adds.
PACKAGE = "torch"
DIST_INFO = f"torch-{VERSION}.dist-info"
#: Whose distribution it is: what tools that list packages read.
INSTALLER = "torchlike"
#: What pip fetched on request, one name a line.
BROUGHT = "torchlike-brought.txt"
#: The console script, and a line by which it is told from every other of that name.
SCRIPT = "torchrun"
SCRIPT_LINE = "# torchlike's torchrun, made by `torchlike shim install`"
#: How the package begins, by which it is told from every other torch.
FIRST_LINE = '"""torchlike under the name of torch.'

_IMPORT = f'''{FIRST_LINE}

Made by `torchlike shim install`; `torchlike shim remove` or `pip uninstall torch` takes it away.
"""

import importlib.util

if importlib.util.find_spec("torchlike") is None:
    raise ModuleNotFoundError(
        "the torch of this environment is torchlike's, and torchlike is not installed: install "
        "torchlike, or take it away with `pip uninstall torch`",
        name="torchlike",
    )

from torchlike.porting.shim.stand_in import take_the_name

take_the_name(__name__)
'''

_METADATA = f"""\
Metadata-Version: 2.1
Name: torch
Version: {VERSION}
Summary: torchlike under the name of torch
Requires-Python: >=3.11
Requires-Dist: torchlike
Provides-Extra: optree
Requires-Dist: optree>=0.13.0; extra == "optree"
Provides-Extra: opt-einsum
Requires-Dist: opt-einsum>=3.3; extra == "opt-einsum"

PyTorch's programming model on JAX. This distribution holds no PyTorch: it makes `import torch` mean
torchlike, and requirements of torch met. `torchlike shim install` made it.
"""

_WHEEL = """\
Wheel-Version: 1.0
Generator: torchlike
Root-Is-Purelib: true
Tag: py3-none-any
"""


_ENTRY_POINTS = f"""\
[console_scripts]
{SCRIPT} = torchlike_command:torchrun
"""


def script(python: str) -> str:
    """Return the console script for an interpreter; the shell finds it where its path is no first
    line."""
    first = f"#!{python}\n"
    if len(python) > 120 or " " in python:
        first = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    return f"""{first}{SCRIPT_LINE}
import sys

from torchlike_command import torchrun

sys.exit(torchrun())
"""


def files(placed: tuple[str, str] | None = None) -> dict[str, str]:
    """Return each file by its path below the environment's packages; ``RECORD`` lists them all, and
    the console script (its path from there, and its text) if it was placed."""
    texts = {
        f"{PACKAGE}/__init__.py": _IMPORT,
        f"{DIST_INFO}/METADATA": _METADATA,
        f"{DIST_INFO}/WHEEL": _WHEEL,
        f"{DIST_INFO}/INSTALLER": f"{INSTALLER}\n",
        f"{DIST_INFO}/REQUESTED": "",
        f"{DIST_INFO}/top_level.txt": f"{PACKAGE}\n",
        f"{DIST_INFO}/entry_points.txt": _ENTRY_POINTS,
        f"{DIST_INFO}/{BROUGHT}": "",
    }
    lines = [
        f"{path},{_digest(text)}" for path, text in texts.items() if not path.endswith(BROUGHT)
    ]
    if placed is not None:
        lines.append(f"{placed[0]},{_digest(placed[1])}")
    lines += [f"{DIST_INFO}/{BROUGHT},,", f"{DIST_INFO}/RECORD,,"]  # one changes, one is this
    texts[f"{DIST_INFO}/RECORD"] = "\n".join(lines) + "\n"
    return texts


def _digest(text: str) -> str:
    content = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(content)}"


def is_our_script(path: Path) -> bool:
    """Return whether a console script is the shim's."""
    try:
        return SCRIPT_LINE in path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False


def is_ours(package: Path) -> bool:
    """Return whether a folder ``torch`` is the shim's."""
    try:
        with open(package / "__init__.py", encoding="utf-8", errors="replace") as file:
            return file.read(len(FIRST_LINE)) == FIRST_LINE
    except OSError:
        return False
