"""The events that torchlike logs are PyTorch's."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader  # noqa: E402
from tensorboard.compat.proto.event_pb2 import Event  # noqa: E402
from tensorboard.util.tensor_util import make_ndarray  # noqa: E402

#: How to log with a writer, given the framework.
LOGS = {
    "scalar": lambda T, w: w.add_scalar("a/b", T.tensor([1.5]), 3, walltime=5.0),
    "new style": lambda T, w: w.add_scalar("a", 2, 3, new_style=True),
    "double": lambda T, w: w.add_scalar("a", 0.1, 3, new_style=True, double_precision=True),
    "scalars": lambda T, w: w.add_scalars("m/n", {"x": 1.0, "y": T.tensor(2.0)}, 4),
    "tensor": lambda T, w: w.add_tensor("t", T.arange(6).view(2, 3), 1),
    "bool tensor": lambda T, w: w.add_tensor("t", T.tensor([True, False])),
    "complex tensor": lambda T, w: w.add_tensor("t", T.ones(2, 2) * 1j),
    "histogram": lambda T, w: w.add_histogram("h", T.linspace(-3, 7, 40), 2),
    "histogram of halves": lambda T, w: w.add_histogram("h", T.linspace(-1, 3, 50).half(), 2),
    "few bins": lambda T, w: w.add_histogram("h", T.linspace(0, 1, 50), bins=20, max_bins=7),
    "auto bins": lambda T, w: w.add_histogram("h", np.arange(100.0) ** 2, bins="auto"),
    "bins beside values": lambda T, w: w.add_histogram("h", T.tensor([1, 4]), bins=[3, 5, 6, 9]),
    "counted": lambda T, w: w.add_histogram_raw("h", 0, 1, 2, 3, 4, [1, 2], [3, 4], 5),
    "image": lambda T, w: w.add_image("i", T.linspace(-1, 2, 60).view(3, 4, 5), 1),
    "bytes": lambda T, w: w.add_image("i", T.arange(60).view(4, 5, 3).byte(), dataformats="HWC"),
    "grey": lambda T, w: w.add_image("i", T.linspace(0, 1, 20).view(4, 5), dataformats="HW"),
    "transparent": lambda T, w: w.add_image("i", T.linspace(0, 1, 80).view(4, 4, 5)),
    "images": lambda T, w: w.add_images("i", T.linspace(0, 1, 9 * 12).view(9, 3, 2, 2)),
    "grey images": lambda T, w: w.add_images("i", T.linspace(0, 1, 12).view(3, 1, 2, 2)),
    "boxes": lambda T, w: w.add_image_with_boxes(
        "b", T.linspace(0, 1, 300).view(3, 10, 10), T.tensor([[1, 2, 6, 8.0]]), rescale=2
    ),
    "boxes on bytes": lambda T, w: w.add_image_with_boxes(
        "b", T.arange(300).view(3, 10, 10).byte(), T.tensor([[1, 2, 6, 8], [0, 0, 3, 3]]), 1
    ),
    "sound": lambda T, w: w.add_audio("s", T.linspace(-1, 1, 30), 1, sample_rate=8000),
    "text": lambda T, w: w.add_text("t", "héllo", 1),
    "curve": lambda T, w: w.add_pr_curve(
        "p", T.tensor([1, 0, 1, 1]), T.tensor([0.9, 0.2, 0.4, 1.0]), 1, num_thresholds=9
    ),
    "weighted curve": lambda T, w: w.add_pr_curve(
        "p", np.array([True, False]), np.array([0.3, 0.6]), 1, weights=np.array([2.0, 3.0])
    ),
    "counted curve": lambda T, w: w.add_pr_curve_raw(
        "p", [1, 1], [0, 1], [1, 0], [1, 2], [0.5, 0.1], [0.2, 0.3], 2, num_thresholds=2
    ),
    "mesh": lambda T, w: w.add_mesh(
        "m", T.ones(1, 2, 3), T.ones(1, 2, 3), T.ones(1, 1, 3).int(), {"b": 1, "a": 2}, 4
    ),
    "hyperparameters": lambda T, w: w.add_hparams(
        {"lr": 0.1, "name": "x", "on": True, "n": 3, "t": T.tensor([2.0]), "none": None},
        {"accuracy": 0.5},
        {"lr": [0.1, 0.2], "name": ["x", "y"], "on": [True]},
        run_name="r",
        global_step=2,
    ),
    "layout": lambda T, w: w.add_custom_scalars(
        {"T": {"a": ["Multiline", ["x", "y"]], "b": ["Margin", ["x", "y", "z"]]}}
    ),
    "chart": lambda T, w: w.add_custom_scalars_multilinechart(["a", "b"], "c", "d"),
    "margin": lambda T, w: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "embedding": lambda T, w: w.add_embedding(
        T.linspace(0, 1, 15).view(5, 3), list("abcde"), T.linspace(0, 1, 60).view(5, 3, 2, 2)
    ),
    "table": lambda T, w: w.add_embedding(
        np.arange(4.0).reshape(2, 2), [["a", 1], ["b", 2]], metadata_header=["x", "y"], tag="q/r"
    ),
}


def logged(framework, folder, log):
    """What was written: events without times (tensors as arrays, however they are encoded), and
    the contents of the other files."""
    board = importlib.import_module(f"{framework.__name__}.utils.tensorboard")
    with board.SummaryWriter(folder, purge_step=1) as writer:
        log(framework, writer)
    found = []
    for file in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
        where = str(file.parent.relative_to(folder))
        if not file.name.startswith("events"):
            found.append((where, file.name, file.read_bytes()))
            continue
        for raw in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(raw)
            if event.wall_time != 5.0:
                event.wall_time = 0
            for value in event.summary.value:
                if value.HasField("tensor"):
                    found.append((where, value.tag, make_ndarray(value.tensor).tolist()))
                    value.tensor.ClearField("tensor_content")
                    for name in ("float_val", "double_val", "int64_val", "bool_val"):
                        value.tensor.ClearField(name)
                    for name in ("int_val", "scomplex_val"):
                        value.tensor.ClearField(name)
            found.append((where, str(event)))
    return found


@pytest.mark.parametrize("log", LOGS.values(), ids=list(LOGS))
def test_the_same_is_written(tmp_path, log):
    ours = logged(torchlike, tmp_path / "ours", log)
    assert ours == logged(torch, tmp_path / "theirs", log)
    assert len(ours) > 2
