"""Event files: what was logged is read back by TensorBoard's own loader."""

import io
import subprocess
import sys
import wave

import numpy as np
import pytest

import torchlike as torch

pytest.importorskip("tensorboard")

from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.util.tensor_util import make_ndarray

from torchlike.utils.tensorboard import SummaryWriter


def events(folder):
    """All events of the files in a folder, the oldest file first."""
    files = sorted(folder.glob("events*"), key=lambda f: int(f.name.split(".")[5]))
    return [e for f in files for e in EventFileLoader(str(f)).Load()]


def values(folder):
    return [(e.step, v) for e in events(folder) for v in e.summary.value]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs"


def test_numbers_of_every_kind(folder):
    loss = torch.tensor([[1.5]], requires_grad=True)
    numbers = [1, 1.5, np.float32(2), np.array([3.0]), torch.tensor(4), loss, torch.ones(()).jax()]
    with SummaryWriter(folder) as writer:
        for step, number in enumerate(numbers):
            writer.add_scalar("loss", number, step)
        writer.add_scalar("half", torch.tensor(0.1, dtype=torch.bfloat16), torch.tensor(7))
    read = [(step, v.tag, float(make_ndarray(v.tensor))) for step, v in values(folder)]
    expected = [1, 1.5, 2, 3, 4, 1.5, 1]
    assert read[:-1] == [(i, "loss", x) for i, x in enumerate(expected)]
    assert read[-1] == (7, "half", float(torch.tensor(0.1, dtype=torch.bfloat16)))


def test_logging_leaves_a_tensor_as_it_is(folder):
    """Its memory becomes no host buffer, which each later use would copy."""
    weight = torch.nn.Parameter(torch.ones(3) * 2)
    with SummaryWriter(folder) as writer:
        writer.add_histogram("weight", weight)
    assert weight._storage.host is None


def test_a_captured_tensor_has_no_value_to_log(folder):
    writer = SummaryWriter(folder)

    @torch.jit
    def step(x):
        writer.add_scalar("loss", x.sum(), 0)
        return x

    with pytest.raises(torch.jit.JitCaptureError, match="SummaryWriter"):
        step(torch.ones(3))
    writer.close()


def test_curves_side_by_side(folder):
    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalars("a/b", {"train": step, "test": torch.tensor(-step)}, step)
    assert [float(make_ndarray(v.tensor)) for _, v in values(folder / "a_b_train")] == [0, 1, 2]
    assert [float(make_ndarray(v.tensor)) for _, v in values(folder / "a_b_test")] == [0, -1, -2]


def test_purged_steps_and_reopened_files(folder):
    writer = SummaryWriter(folder, purge_step=5, filename_suffix=".mine")
    writer.close()
    writer.add_scalar("late", 1.0, 6)
    writer.close()
    found = events(folder)
    assert [e.step for e in found if e.HasField("session_log")] == [5]
    assert [e.step for e in found if e.summary.value] == [6]
    assert all(f.name.endswith(".mine") for f in folder.glob("events*"))


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 7, [-1.0, 0.0, 1.0]], ids=str)
def test_a_histogram_counts_every_value_once(folder, bins):
    x = torch.linspace(-1, 1, 50)
    with SummaryWriter(folder) as writer:
        writer.add_histogram("x", x, 0, bins=bins)
    ((_, value),) = values(folder)
    left, right, counts = make_ndarray(value.tensor).T
    assert counts.sum() == 50
    assert (left[1:] == right[:-1]).all()
    assert left[0] <= -1 <= 1 <= right[-1]


def test_pictures(folder):
    image = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).view(2, 3, 4, 5)
    with SummaryWriter(folder) as writer:
        writer.add_image("one", image[0])
        writer.add_images("all", image.permute(0, 2, 3, 1), dataformats="NHWC")
        writer.add_image("grey", torch.tensor([[0.0, 2.0]]), dataformats="HW")
        writer.add_video("film", image[None].repeat(3, 1, 1, 1, 1))
        boxes = torch.tensor([[1, 2, 35, 30]])
        writer.add_image_with_boxes("box", torch.zeros(3, 40, 40), boxes, labels="x")
    found = {v.tag: make_ndarray(v.tensor) for _, v in values(folder)}
    read = {tag: Image.open(io.BytesIO(x[2])) for tag, x in found.items()}
    first = image[0].permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(np.asarray(read["one"]), first)
    np.testing.assert_array_equal(np.asarray(read["all"])[:, :5], first)
    np.testing.assert_array_equal(np.asarray(read["grey"])[0, :, 0], [0, 255])
    assert read["film"].size == (10, 8)  # three, in two rows of two
    assert read["film"].n_frames == 2
    red = (np.asarray(read["box"]) == [255, 0, 0]).all(-1)
    assert red[2, 1:36].all()
    assert red[2:31, 35].all()
    assert not red[35].any()
    assert not red[10, 10]
    assert red[25:28, 1:9].any()  # the label's ground


def test_figures(folder):
    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure(figsize=(2, 1), dpi=50, facecolor=(1, 0, 0))
    with SummaryWriter(folder) as writer:
        writer.add_figure("plot", figure)
        writer.add_figure("plots", [figure, figure])
    one, two = [Image.open(io.BytesIO(make_ndarray(v.tensor)[2])) for _, v in values(folder)]
    assert (one.size, two.size) == ((100, 50), (200, 50))
    assert np.asarray(one)[0, 0].tolist() == [255, 0, 0]


def test_sound(folder):
    with SummaryWriter(folder) as writer, pytest.warns(UserWarning, match="auto clipped"):
        writer.add_audio("beep", torch.tensor([[0.0, 0.5, 2.0]]), sample_rate=8000)
    ((_, value),) = values(folder)
    with wave.open(io.BytesIO(make_ndarray(value.tensor).ravel()[0])) as file:
        assert file.getframerate() == 8000
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 16383, 32767]


def test_a_graph_names_parameters_and_is_closed(folder):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Softmax(1))
    before = {name: t.clone() for name, t in model.state_dict().items()}
    with SummaryWriter(folder) as writer:
        writer.add_graph(model, torch.ones(2, 3))
    (graph,) = [GraphDef.FromString(e.graph_def) for e in events(folder) if e.graph_def]
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node)
    assert {"Sequential/0/weight", "Sequential/1/running_var", "input/0", "output/0"} <= set(nodes)
    assert all(given in nodes for node in graph.node for given in node.input)
    assert any(node.op == "dot_general" for node in graph.node)
    seen, todo = set(), ["output/0"]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += nodes[name].input
    assert {"input/0", "Sequential/0/weight", "Sequential/1/bias"} <= seen
    for name, t in model.state_dict().items():  # drawing a model does not train it
        assert torch.equal(t, before[name])


def test_embeddings_lie_beside_the_events(folder):
    points = torch.tensor([[1.0, 2.0], [3.0, 4.5]])
    with SummaryWriter(folder) as writer:
        writer.add_embedding(points, ["a", "b"], torch.ones(2, 3, 2, 2), tag="x/y", global_step=3)
        with pytest.warns(UserWarning, match="dir exists"):
            writer.add_embedding(points, tag="x/y", global_step=3)
    assert (folder / "00003/x%2fy/tensors.tsv").read_text() == "1.0\t2.0\n3.0\t4.5\n"
    assert (folder / "00003/x%2fy/metadata.tsv").read_text() == "a\nb\n"
    with Image.open(folder / "00003/x%2fy/sprite.png") as sprite:
        assert sprite.size == (4, 4)
    assert (folder / "projector_config.pbtxt").read_text().count("embeddings {") == 2


@pytest.mark.parametrize(
    ("log", "error", "words"),
    [
        (lambda w: w.add_scalar("a", torch.ones(2)), AssertionError, "should contain one element"),
        (lambda w: w.add_scalar("a", None), NotImplementedError, "numpy array or torch tensor"),
        (lambda w: w.add_histogram("a", torch.ones(0)), ValueError, "no element"),
        (lambda w: w.add_histogram("a", torch.ones(2), bins=[2, 3]), ValueError, "empty"),
        (
            lambda w: w.add_image("a", torch.ones(2, 2)),
            AssertionError,
            "input format are different",
        ),
        (lambda w: w.add_image("a", torch.ones(2, 2), dataformats="HH"), AssertionError, "twice"),
        (lambda w: w.add_image("a", torch.ones(2, 2), dataformats="XY"), ValueError, "letters"),
        (lambda w: w.add_hparams([], {}), TypeError, "dictionary"),
        (lambda w: w.add_hparams({"a": [1]}, {}), ValueError, "one of int, float, str, bool"),
        (lambda w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}), TypeError, "list of same type"),
        (lambda w: w.add_mesh("a", torch.ones(2, 3)), ValueError, "BxNx3"),
        (lambda w: w.add_embedding(torch.ones(3)), AssertionError, "2D"),
        (lambda w: w.add_embedding(torch.ones(3, 2), ["a"]), AssertionError, "#labels"),
        (lambda w: w.add_tensor("a", torch.ones(2).to(torch.float8_e5m2)), ValueError, "dtype"),
        (lambda w: w.add_custom_scalars_marginchart(["a"]), AssertionError, "3 tags"),
        (lambda w: w.add_onnx_graph("f"), NotImplementedError, "add_graph"),
    ],
    ids=range(16),
)
def test_bad_input_writes_nothing(folder, log, error, words):
    with SummaryWriter(folder) as writer, pytest.raises(error, match=words):
        log(writer)
    assert values(folder) == []


@pytest.mark.exhaustive
def test_without_tensorboard_the_extra_is_named():
    code = (
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'tensorboard' else find(name, *rest)\n"
        "import torchlike.as_torch\nfrom torch.utils.tensorboard import SummaryWriter"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: torch.utils.tensorboard needs the package tensorboard: "
        "pip install 'torchlike[tensorboard]'"
    )
