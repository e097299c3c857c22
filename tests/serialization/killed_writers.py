"""``killed_writers.py LIBRARY FOLDER COUNT SEED``: kill each writer of files at random moments.

LIBRARY: torchlike or torch. For each way of writing a file a process is forked that replaces the
file, and is killed (SIGKILL) at a moment between its begin and a little after its end. Writes as
JSON, for each, how often the file was whole afterwards (the former or the new one), lost, and how
many other files were left in its folder after the last kill and after one more save.
"""

import importlib
import io
import json
import os
import random
import shutil
import signal
import sys
import time
import types
import warnings
from unittest import mock

SIZE = 1 << 20  # elements


class Writers:
    """Ways of writing a number into a path, and of reading it: for each name a pair."""

    def __init__(self, name):
        self.t = t = importlib.import_module(name)
        self.ours = name == "torchlike"
        self.dcp = importlib.import_module(f"{name}.distributed.checkpoint")
        importlib.import_module(f"{name}.export")
        self.values = {n: t.full((SIZE,), float(n)) for n in range(8)}

        class Holder(t.nn.Module):
            def __init__(self, value):
                super().__init__()
                self.register_buffer("value", value)

            def forward(self, x):
                return self.value + x

        example = (t.zeros(SIZE),)
        # Loaded ones: their programs are there, and a forked process cannot make any.
        self.scripts = {
            n: self.loaded(t.jit.trace(Holder(self.values[n]), example)) for n in (0, 1)
        }
        self.programs = {n: t.export.export(Holder(self.values[n]), example) for n in (0, 1)}
        if self.ours:
            # Their constants are no single number: the module would be as small as one.
            self.counting = {
                n: self.loaded(t.jit.trace(Holder(t.arange(SIZE) + float(n)), example))
                for n in (0, 1)
            }
            self.lowered = {}
            self.onnx = {n: self.model_for_onnx(Holder(self.values[n]), example) for n in (0, 1)}

    def loaded(self, script):
        """A script from a file."""
        file = io.BytesIO()
        self.t.jit.save(script, file)
        file.seek(0)
        return self.t.jit.load(file)

    def model_for_onnx(self, module, example):
        """What torch.onnx.export gives. Its converter is a stand-in: of the weights, as bytes."""

        def converted(function, inputs, **options):
            weights = next(module.buffers()).numpy().tobytes()
            return types.SimpleNamespace(SerializeToString=lambda: weights)

        sys.modules["jax2onnx"] = types.SimpleNamespace(to_onnx=converted)
        try:
            return importlib.import_module("torchlike.onnx").export(module, example)
        finally:
            del sys.modules["jax2onnx"]

    def save_stablehlo(self, path, n):
        """Lowers a program once: MLIR's threads are not there in a forked process."""
        writer = importlib.import_module("torchlike.export.stablehlo")
        lower = writer._exported

        def lowered(*arguments):
            if n not in self.lowered:
                self.lowered[n] = lower(*arguments)
            return self.lowered[n]

        with mock.patch.object(writer, "_exported", lowered):
            writer.save_stablehlo(self.counting[n], path)

    def weights_of_onnx(self, path):
        with open(path, "rb") as file:
            return _one(self.t.frombuffer(bytearray(file.read()), dtype=self.t.float32))

    def weights_of_stablehlo(self, path):
        """The number that the first of the constants is; those behind it count on from there."""
        ir = importlib.import_module("jaxlib.mlir.ir")
        dialect = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
        with open(path, "rb") as file, ir.Context() as context:
            module = dialect.deserialize_portable_artifact(context, file.read())
        constants = []
        module.operation.walk(lambda op: constants.append(op) or ir.WalkResult.ADVANCE)
        held = next(op for op in constants if op.name == "stablehlo.constant")
        values = ir.DenseFPElementsAttr(held.attributes["value"])
        assert (len(values), values[SIZE - 1] - values[0]) == (SIZE, SIZE - 1)
        return int(values[0])

    def pairs(self):
        """(write, read) by name. ``write`` takes a path and 0 or 1, ``read`` gives it."""
        t = self.t
        found = {
            "torch.save": (lambda p, n: t.save(self.values[n], p), lambda p: _one(t.load(p))),
            "torch.save, legacy": (
                lambda p, n: t.save(self.values[n], p, _use_new_zipfile_serialization=False),
                lambda p: _one(t.load(p)),
            ),
            "torch.jit.save": (
                lambda p, n: t.jit.save(self.scripts[n], p),
                lambda p: _one(dict(t.jit.load(p).named_buffers())["value"]),
            ),
            "torch.export.save": (
                lambda p, n: t.export.save(self.programs[n], p),
                lambda p: _one(next(iter(t.export.load(p).state_dict.values()))),
            ),
            "distributed checkpoint": (
                lambda p, n: self.dcp.save({"a": self.values[n], "n": n}, checkpoint_id=p),
                self.checkpoint,
            ),
        }
        return found | (self.ours_alone() if self.ours else {})

    def ours_alone(self):
        """Formats that PyTorch has no writer of, or one in another package."""
        serialization = importlib.import_module("torchlike.serialization")
        files = importlib.import_module("torchlike._runtime.whole_files")
        blank = " " * (4 * SIZE)

        def read_text(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            assert len(text) == len(blank) + 1
            return int(text[-1])

        return {
            "safetensors": (
                lambda p, n: serialization.save_safetensors({"a": self.values[n]}, p),
                lambda p: _one(serialization.load_safetensors(p)["a"]),
            ),
            "Hugging Face folder": (
                lambda p, n: self.dcp.save(
                    {"a": self.values[n]}, storage_writer=self.dcp.HuggingFaceStorageWriter(p)
                ),
                self.hugging_face,
            ),
            "StableHLO": (self.save_stablehlo, self.weights_of_stablehlo),
            "ONNX": (lambda p, n: self.onnx[n].save(p), self.weights_of_onnx),
            # As reports and caches are written.
            "a page": (lambda p, n: files.write_text(p, f"{blank}{n}"), read_text),
        }

    def checkpoint(self, path):
        """The number in a folder, of its tensor and of its other objects."""
        state = {"a": self.t.zeros(SIZE), "n": -1}
        self.dcp.load(state, checkpoint_id=path)
        assert state["n"] == _one(state["a"])
        return state["n"]

    def hugging_face(self, path):
        state = {"a": self.t.zeros(SIZE)}
        self.dcp.load(state, storage_reader=self.dcp.HuggingFaceStorageReader(path))
        return _one(state["a"])


def _one(tensor):
    """The number that all elements are."""
    low, high = tensor.min().item(), tensor.max().item()
    assert low == high
    assert tuple(tensor.shape) == (SIZE,)
    return int(low)


def _prepared(path, write):
    """Write both files, 0 last; how long a save takes."""
    write(path, 0)
    start = time.perf_counter()
    write(path, 1)
    took = time.perf_counter() - start
    write(path, 0)
    return took


def _files(folder):
    return sum(len(files) for _, _, files in os.walk(folder))


def _killed(write, path, number, wait):
    child = os.fork()
    if not child:
        try:
            write(path, number)
        finally:
            os._exit(0)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main(library, folder, count, seed):
    """Kill, look, print."""
    warnings.simplefilter("ignore")  # of forks
    writers, table = Writers(library), {}
    for name, (write, read) in writers.pairs().items():
        place = os.path.join(folder, "place")
        os.mkdir(place)
        path = os.path.join(place, "file")
        took = _prepared(path, write)
        whole, draw, n = _files(place), random.Random(f"{seed}{name}"), 0
        told = {"former": 0, "new": 0, "lost": 0}
        for _ in range(count):
            _killed(write, path, 1 - n, draw.uniform(0, 2 * took + 0.05))
            try:
                found = read(path)
            except Exception as error:
                told["lost"] += 1
                told["error"] = f"{type(error).__name__}: {error}"[:80]
                found = n
                write(path, n)
            else:
                told["former" if found == n else "new"] += 1
            n = found
        told["left"] = _files(place) - whole
        write(path, 1 - n)
        told["left after the next save"] = _files(place) - whole
        assert read(path) == 1 - n
        table[name] = told
        shutil.rmtree(place)
    sys.stdout.write(json.dumps(table))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
