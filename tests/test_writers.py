"""Where the package writes files in place: each has its reason. Others go through whole_files."""

import ast
from collections import Counter
from pathlib import Path

import torchlike

PACKAGE = Path(torchlike.__file__).parent
BESIDE = "into a folder of its own, which is renamed when it is whole"

#: file -> how often, and why it may.
PLACES = {
    "_runtime/launching/logs.py": (1, "a rank's log, which grows while the rank runs"),
    "distributed/file_stores.py": (1, "a file that processes add to, locked"),
    "multiprocessing/spawn.py": (1, "between a process and its parent, which removes it"),
    "porting/plan/topologies.py": (1, "to the null device"),
    "porting/shim/changes.py": (3, BESIDE),
    "porting/shim/companions.py": (1, "a temporary file for pip"),
    "utils/tensorboard/_pictures.py": (1, "in memory"),
}


def _mode(call):
    """What a call that opens something says of it: "r", "wb"; nothing where it is no constant."""
    said = [
        a.value
        for a in (*call.args, *(k.value for k in call.keywords if k.arg == "mode"))
        if isinstance(a, ast.Constant) and isinstance(a.value, str)
    ]
    return next((text for text in said if text and set(text) <= set("rwxabt+")), "r")


def writes(call):
    """True if a call writes to a path by itself."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open" and not set(_mode(call)) <= set("rbt")
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "open":
        return not set(_mode(call)) <= set("rbt")
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    return function.attr in ("write_text", "write_bytes") and owner != "whole_files"


def _found(source):
    if not any(word in source for word in ("open(", ".write_text(", ".write_bytes(")):
        return 0  # the quickest
    return sum(writes(n) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call))


def test_every_place_that_writes_in_place_has_its_reason():
    found = Counter()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name != "_runtime/whole_files.py":
            found[name] += _found(path.read_text(encoding="utf-8"))
    assert +found == {name: count for name, (count, _) in PLACES.items()}


def test_the_search_finds_each_kind():
    assert (
        _found("open(p, 'wb')\nopen(p, mode='a')\np.open('w')\np.write_text(t)\nf.write_bytes(b)")
        == 5
    )
    assert _found("open(p)\nopen(p, 'rb')\nwhole_files.write_text(p, t)\nfile.write(b)") == 0
