"""``mutant_table.py LIBRARY COUNT [FORMAT …]``: what becomes of a library that reads damaged files.

LIBRARY: torchlike or torch. For each format COUNT mutants of a small file of the library's own are
read in child processes: every second one is damaged anywhere, the others in one record whose
checksums are right. A child may take a gigabyte more than it has, and 20 seconds for a file.
Writes, for each format, how many ended in nothing (``harmless``), in a clear error, in a raw one,
with more memory than that, with the process, never (``hang``), and how many started a process,
connected to something or removed a file (``executed``).
"""

import contextlib
import importlib
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path

from tests.serialization.mutants import a_gigabyte_more, is_of_memory, mutants

KINDS = ("clear", "harmless", "raw error", "over 1 GB", "crash", "hang", "executed")
SECONDS = 20
#: Events of Python that a file has no business with. (A trial of StableHLO is torchlike's own.)
EVENTS = (
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "subprocess.Popen",
    "os.remove",
    "os.rmdir",
    "shutil.rmtree",
    "socket.connect",
)


class Formats:
    """Writers and readers of a library: for each format a pair that takes a path."""

    def __init__(self, name):
        self.t = t = importlib.import_module(name)
        importlib.import_module(f"{name}.export")
        if name == "torch":
            tensors = importlib.import_module("safetensors.torch")
            save_safetensors, load_safetensors = tensors.save_file, tensors.load_file
        else:
            tensors = importlib.import_module("torchlike.serialization")
            save_safetensors, load_safetensors = tensors.save_safetensors, tensors.load_safetensors
        state = {
            "m": t.nn.Linear(2, 2).state_dict(),
            "n": [1, 2.5, "x", None, (1, 2)],
            "b": t.ones(3, dtype=t.bfloat16),
            "s": t.eye(2).to_sparse(),
        }
        model, x = t.nn.Sequential(t.nn.Linear(3, 2), t.nn.ReLU()), t.ones(2, 3)
        old = {"_use_new_zipfile_serialization": False}
        self.pairs = {
            "checkpoint, zip": (lambda p: t.save(state, p), t.load),
            "checkpoint, legacy": (lambda p: t.save(state, p, **old), t.load),
            "torch.export, .pt2": (
                lambda p: t.export.save(t.export.export(model, (x,)), p),
                t.export.load,
            ),
            "torch.jit, .pt": (lambda p: t.jit.save(t.jit.trace(model, (x,)), p), t.jit.load),
            "safetensors": (
                lambda p: save_safetensors({"a": t.ones(3, 4), "b": t.arange(5)}, p),
                load_safetensors,
            ),
        }


def damaged(whole, count):
    """Mutants of a file: of its bytes, and of its records in turn."""
    records = {}
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(whole)) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    anywhere = mutants(whole, count, 1)
    inside = {name: mutants(content, count, 2) for name, content in records.items() if content}
    names = list(inside)
    for i in range(count):
        if i % 2 or not names:
            yield next(anywhere)
            continue
        chosen = names[i // 2 % len(names)]
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for name, content in records.items():
                archive.writestr(name, next(inside[name]) if name == chosen else content)
        yield made.getvalue()


def outcome(read, path):
    """What becomes of one file that can be survived."""
    try:
        with a_gigabyte_more():
            read(path)
    except Exception as error:
        text = str(error)
        if is_of_memory(error) or "allocate memory" in text or "bad_alloc" in text:
            return "over 1 GB"
        clear = isinstance(error, (RuntimeError, pickle.UnpicklingError, EOFError))
        clear = clear or text.startswith("Unknown endianness type")  # a ValueError of PyTorch's
        return "clear" if clear or "Safetensor" in type(error).__name__ else "raw error"
    return "harmless"


def child(library, name, folder, start, count):
    """Read mutants from number ``start`` on; a line says each number before, and what it became."""
    warnings.simplefilter("ignore")
    read = Formats(library).pairs[name][1]
    whole, path = Path(folder, "whole").read_bytes(), Path(folder, "damaged" + suffix(name))
    executed = []

    def hear(event, arguments):
        if event in EVENTS and not any("parsing.py" in str(a) for a in arguments):
            executed.append(event)

    sys.addaudithook(hear)
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for i, content in enumerate(damaged(whole, count)):
        if i < start:
            continue
        path.write_bytes(content)
        told.write(f"{i} ")
        told.flush()
        executed.clear()
        signal.alarm(SECONDS)
        kind = outcome(read, str(path))
        signal.alarm(0)
        told.write(f"{'executed' if executed else kind}\n")


def suffix(name):
    """What a reader wants a file's name to end in."""
    return {"safetensors": ".safetensors", "torch.export, .pt2": ".pt2"}.get(name, ".pt")


def counts(library, name, count):
    """How many mutants of a format ended in which way."""
    found, start = Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        made = str(Path(folder, "made" + suffix(name)))
        Formats(library).pairs[name][0](made)
        Path(folder, "whole").write_bytes(Path(made).read_bytes())
        while start < count:
            command = [sys.executable, __file__, "--child", library, name, folder, str(start)]
            done = subprocess.run(
                [*command, str(count)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
            found.update(kind for _, kind in lines if kind)
            if done.returncode == 0:
                break
            if not lines or lines[-1][1]:
                raise RuntimeError(f"the child ended with {done.returncode} between two files")
            found["hang" if done.returncode == -signal.SIGALRM else "crash"] += 1
            start = int(lines[-1][0]) + 1
    return found


def main(library, count, *names):
    """Print the table, of some formats or of all."""
    lines = [(library, *KINDS)]
    for name in names or Formats(library).pairs:
        found = counts(library, name, count)
        assert found.total() == count
        lines.append((name, *(found[kind] for kind in KINDS)))
    sys.stdout.writelines(" | ".join(map(str, line)) + "\n" for line in lines)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(*sys.argv[2:5], *map(int, sys.argv[5:]))
    else:
        main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
